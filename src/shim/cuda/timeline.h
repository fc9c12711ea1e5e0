/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One time for all streams of a context: when an event was passed, in ns.
 *
 * The driver tells the time between two events, in milliseconds with 24 bits; so times are told
 * from an event of ours in a stream of our own, which is idle and so passes it at once, and another
 * one takes its place before a second has gone. By the host's clock that is when it was recorded,
 * until some stamp shows that it was not (shim/stamp.h).
 */
#ifndef ALIQUOT_SHIM_CUDA_TIMELINE_H
#define ALIQUOT_SHIM_CUDA_TIMELINE_H

#include <stdint.h>

#include "abi/cuda.h"
#include "shim/stamp.h"

struct timeline;

/* Made at the first call; NULL: no room, or the driver would not. Any thread. */
struct timeline *timeline_of(CUcontext context);

struct reading {
        CUcontext context;
        CUevent event;
        uint64_t asked_ns;
};

/* The event has been passed, by the host's clock not before asked_ns, nor after now: when. The
 * driver's error, CUDA_ERROR_NOT_READY among them, otherwise; CUDA_ERROR_UNKNOWN if what it tells
 * are no times; CUDA_ERROR_CONTEXT_IS_DESTROYED if the timeline is no longer the context's. */
CUresult timeline_read(struct timeline *timeline, const struct reading *reading, struct stamp *ret);

/* The context is about to be destroyed: from here on nobody finds its timeline. Who stands in the
 * driver with it is waited for, but not for long; then it is that one's to bury. */
void timeline_forget(CUcontext context);

#endif
