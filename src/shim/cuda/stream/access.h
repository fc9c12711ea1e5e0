/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that touch a device's memory but are no submissions: copies over a link, migrations, words
 * written by a stream, and all calls that allocate or free memory. They are not billed as GPU time,
 * and wait only while the session is held (limits_page.gate).
 *
 *      access_begin();                         // waits here while the session is held
 *      return access_end(real.cuMemAlloc_v2(...));
 *
 * or, first in a hook with many returns,
 *
 *      scoped_access const struct credit *access = access_scope();
 *
 * Calls may be nested: the outer one waits. A call that adds something to a stream names the
 * stream, so that the answer to a hold (hold.h) waits for it.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_ACCESS_H
#define ALIQUOT_SHIM_CUDA_STREAM_ACCESS_H

#include <stdbool.h>

#include "abi/cuda.h"
#include "interpose/gate.h"
#include "shim/cuda/stream/submit.h"
#include "shim/time/credit.h"

/* On the way, but the thread is new, or the gate is shut. */
void access_wait(void);

/*
 * A hook that waits for something else leaves, so that a hold does not wait for it, and enters
 * again when the gate is open. False: another hook of this thread is on its way, and this one
 * stays.
 */
bool access_pause(void);
void access_resume(void);

/* Sleeps in a hook that waits for another thread or process of ours, and holds no lock: paused, if
 * that can be. */
void access_sleep_ns(uint64_t ns);

/* As access_begin(), for work that can be done later: does not wait. False: the gate is shut, and
 * access_end() must not follow. */
bool access_try(void);

/* Notes that what it adds to the stream may be in flight after the call. */
void access_leave_to(CUstream stream);

static inline void access_begin(void)
{
        credit_enter(&credit_here);
        if (__builtin_expect(credit_here.caller->owner != &credit_here || gate_is_shut(), 0))
                access_wait();
}

static inline CUresult access_end(CUresult rc)
{
        credit_leave(&credit_here);
        return rc;
}

/* Begins an access that ends with the block: the declaration comes first in a hook with many
 * returns. */
#define scoped_access __attribute__((unused, cleanup(access_scope_end)))

static inline const struct credit *access_scope(void)
{
        access_begin();
        return &credit_here;
}

static inline void access_scope_end(const struct credit **credit)
{
        credit_leave(*credit);
}

/* The call, which began, is in `stream`. */
static inline void access_in(CUstream stream)
{
        if (!credit_is_free(&credit_here))
                access_leave_to(stream);
}

/* Around a call that leaves something to the stream, with the default one spelt out. */
static inline void touch_begin(CUstream stream)
{
        access_begin();
        access_in(stream);
}

static inline CUresult touch_end(CUresult rc)
{
        return access_end(rc);
}

#endif
