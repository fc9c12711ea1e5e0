/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream captures: work in a captured stream becomes part of a graph and does not run.
 *
 * Aliquot adds nothing to a capture, and none of its queries invalidates one. The calls that begin
 * and end captures have hooks, which hold the lock of the stream's record; Aliquot's own queries
 * about the stream are made under that lock too. A stream joins a capture by waiting for an event,
 * and that call has a hook as well.
 *
 * Allocations in a captured stream are not charged. But before the driver's call it is not certain
 * that the stream is captured, because another thread may end the capture first. So the hook
 * *holds* the capture: it keeps the capture from ending until the call is over. A thread that ends
 * a capture waits for the threads that hold one; not for long, because a captured call does not
 * wait for the device. A thread that wants to hold a capture waits for the threads that end one,
 * but 2 s at most, because the end of a context waits for work, which may wait for this thread. If
 * the capture cannot be held, the allocation is charged even if the stream is captured.
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

/* Whether any stream of this process may be captured, or recorded for graphics (recorded.h). */
bool captures_are_open(void);

/* Updates whether the stream is captured. For a thread's own default stream, only that thread may
 * call this. */
void capture_ask_again(struct time_stream *stream);

/* Call after a stream or a context was destroyed: forgets the captures that were begun in it. */
void capture_stream_gone(CUstream stream);
void captures_context_gone(CUcontext context);

/* Holds the capture of the stream until capture_let_go(), and returns the capture's number.
 * `stream` is CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for a default stream. 0: no capture is held
 * (none is active, or the driver does not report it), and capture_let_go() must not follow. */
uint64_t capture_hold(CUstream stream);

/* Ends the hold. False: the stream is no longer part of the capture, which the hooks normally
 * prevent. */
bool capture_let_go(CUstream stream, uint64_t capture);

/* A stream that begins, ends or joins a capture. The lock of its record is held. */
struct capture_stream {
        CUstream handle;
        CUcontext context;
        uint64_t key;
        struct time_stream *stream; /* the stream's record; NULL: the stream is not metered */
        /* Whether the stream was capturing before the call that ends a capture. */
        bool is_there;
};

/* Call before and after the driver call that begins a capture in a stream. `handle` is
 * CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for a default stream. capture_end() returns `rc`. */
struct capture_stream capture_begin(CUstream handle);
CUresult capture_end(const struct capture_stream *capture, CUresult rc);

/* Call before and after a driver call that may end captures. capture_ends_end() returns `rc`. */
void capture_ends_begin(void);
CUresult capture_ends_end(CUresult rc);

#endif
