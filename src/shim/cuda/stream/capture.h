/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures: work in a captured stream becomes part of a graph and does not run.
 *
 * Aliquot adds nothing to a capture, and none of its questions ends one. Begin and end of captures
 * pass through hooks under the lock of the stream's record, as do Aliquot's own questions about
 * that stream. A stream joins a capture by waiting for an event, which is a hook too.
 *
 * Allocations in a captured stream are not charged. Before the driver's call it is not certain that
 * the stream is captured, because another thread may end the capture first. So the capture is held,
 * and cannot end meanwhile. A thread that ends a capture waits for the threads that hold it: not
 * for long, because a captured call does not wait for the device. A thread that wants to hold a
 * capture waits for threads that end one, 2 s at most, because the end of a context waits for work,
 * which may wait for this thread. An allocation in a stream that is not held is charged, even if it
 * is captured.
 *
 *      capture = capture_hold(stream);
 *      rc = capture ? CUDA_SUCCESS : reserve...;
 *      if (rc == CUDA_SUCCESS)
 *              rc = real.call(stream);
 *      if (capture && !capture_let_go(stream, capture))
 *              charge what the driver has
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_CAPTURE_H
#define ALIQUOT_SHIM_CUDA_STREAM_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/cuda/stream/ask.h"

struct time_stream;

/* Some stream of this process may be captured, or recorded for graphics (recorded.h). */
bool captures_are_open(void);

/* Asks again whether the stream is captured; only a thread itself asks about its own default
 * stream. */
void capture_ask_again(struct time_stream *stream);

/* The stream, or the context, was destroyed: so is a capture that was begun in it. */
void capture_stream_gone(CUstream stream);
void captures_context_gone(CUcontext context);

/* Holds the capture of the stream until capture_let_go(), and returns it; 0: none, or the driver
 * does not say, and there is nothing to let go. `stream` with the default stream resolved. */
uint64_t capture_hold(CUstream stream);

/* False: the stream is no longer part of it. The hooks prevent that. */
bool capture_let_go(CUstream stream, uint64_t capture);

/* A stream whose capture begins, ends, or gets another stream; its metered record, with its lock
 * held. */
struct capture_stream {
        CUstream handle;
        CUcontext context;
        uint64_t key;
        struct time_stream *stream; /* NULL: it is not metered */
        bool is_there;
};

/* Around the call that begins a capture in a stream, with the default one spelt out. */
struct capture_stream capture_begin(CUstream handle);
CUresult capture_end(const struct capture_stream *capture, CUresult rc);

/* Around a call of the driver that may end captures; the second returns `rc`. */
void capture_ends_begin(void);
CUresult capture_ends_end(CUresult rc);

#endif
