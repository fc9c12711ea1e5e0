/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the driver about streams, inside a call of the program.
 *
 * The queries do not disturb a stream capture of any thread. Queries that the driver would refuse
 * during a capture, or that would invalidate it, are made while the thread's capture mode is
 * relaxed. The program's own call is made in the thread's own mode.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_ASK_H
#define ALIQUOT_SHIM_CUDA_STREAM_ASK_H

#include <stdbool.h>

#include "abi/cuda.h"

/* A thread's capture mode before relax(). */
struct relaxed {
        /* False: the driver could not change the mode. */
        bool is_relaxed;
        CUstreamCaptureMode mode; /* the thread's own mode */
};

/* relax() sets the thread's capture mode to relaxed and returns the old mode; unrelax() restores
 * it. */
struct relaxed relax(void);
void unrelax(struct relaxed was);

/* Restores the thread's own mode at the end of the enclosing block:
 *
 *      scoped_relaxed struct relaxed was = relax();
 */
#define scoped_relaxed __attribute__((unused, cleanup(relaxed_end)))

static inline void relaxed_end(const struct relaxed *was)
{
        unrelax(*was);
}

/* Whether the stream is capturing or recorded (recorded.h). True also if the driver does not report
 * it. */
bool may_be_capturing(CUstream stream);

/* Returns the context of the stream; for a default stream, or if the driver does not report it, the
 * thread's current context. NULL: there is none. */
CUcontext context_of_stream(CUstream stream);

#endif
