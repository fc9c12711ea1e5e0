/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures: what is given to such a stream becomes part of a graph, and does not run.
 *
 * Nothing of ours goes into a capture, and nothing that we ask ends one. Begin and end of captures
 * pass through our hooks under the lock of the stream's record, as do our own questions about that
 * stream; a stream that joins a capture does so by waiting for an event, which is a hook, too.
 *
 * Memory that is given to a captured stream is not charged. Whether it was captured is not known
 * before the driver's call, which may come after another thread's end of the capture: so the
 * capture is held, and cannot end meanwhile. Whoever ends one waits for those who hold one: not
 * long, since what is captured does not wait for the device. Whoever would hold one waits for those
 * who end one, 2 s at most: the end of a context waits for work, which may wait for this thread.
 * What is given to a stream that is not held is charged, also if it is captured.
 *
 *      capture = capture_hold(stream);
 *      rc = capture ? CUDA_SUCCESS : reserve...;
 *      if (rc == CUDA_SUCCESS)
 *              rc = real.call(stream);
 *      if (capture && !capture_let_go(stream, capture))
 *              charge by what the driver has
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

/* Whether it still is a part of one; a thread's own default stream is asked about by that thread
 * alone. */
void capture_ask_again(struct time_stream *stream);

/* The stream, or the context, was destroyed: so is a capture that was begun in it. */
void capture_stream_gone(CUstream stream);
void captures_context_gone(CUcontext context);

/* The capture that the stream is a part of, held until capture_let_go(); 0: none, or the driver
 * does not say, and nothing is to be let go. `stream` with the default stream spelt out. */
uint64_t capture_hold(CUstream stream);

/* False: the stream is not a part of it any more. Our hooks bar that. */
bool capture_let_go(CUstream stream, uint64_t capture);

/* A stream in whose capture something begins, ends or joins; as it is metered, its lock held. */
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
