/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps calls that touch a device's memory but are no submissions: copies between devices or to and
 * from the host, migrations, words written by a stream, and all calls that allocate or free memory.
 * These calls are not billed as GPU time, and wait only while the session is held
 * (limits_page.gate).
 *
 *      access_begin();                         // waits here while the session is held
 *      return access_end(real.cuMemAlloc_v2(...));
 *
 * or, first in a hook with many returns,
 *
 *      scoped_access const struct credit *access = access_scope();
 *
 * Calls may be nested; then only the outer one waits. A call that adds something to a stream names
 * the stream (access_in()), so that the answer to a hold (hold.h) waits until that has completed.
 */
#ifndef ALIQUOT_SHIM_CUDA_STREAM_ACCESS_H
#define ALIQUOT_SHIM_CUDA_STREAM_ACCESS_H

#include <stdbool.h>

#include "abi/cuda.h"
#include "interpose/gate.h"
#include "shim/cuda/stream/submit.h"
#include "shim/time/credit.h"

/* Continues access_begin() if the thread is new or the gate is closed: waits until the gate is
 * open. */
void access_wait(void);

/*
 * access_pause() suspends the access of a hook that is about to wait for something, so that a hold
 * does not wait for this thread. access_resume() continues it once the gate is open. access_pause()
 * returns false, and the access goes on, if the thread is not in the table of threads or is inside
 * another hook too.
 */
bool access_pause(void);
void access_resume(void);

/* Sleeps, in a hook that waits for another thread or process of ours and holds no lock. The access
 * is paused meanwhile if possible. */
void access_sleep_ns(uint64_t ns);

/* As access_begin(), for work that can be done later: does not wait. False: the gate is closed, and
 * access_end() must not follow. */
bool access_try(void);

/* Notes that something which this call adds to the stream may still be in flight after the call. */
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

/* Makes an access end with the enclosing block. For a hook with many returns; the declaration comes
 * first in the hook. */
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

/* Notes that the access that has begun adds something to `stream`. */
static inline void access_in(CUstream stream)
{
        if (!credit_is_free(&credit_here))
                access_leave_to(stream);
}

/* Call touch_begin() and touch_end() around a driver call that adds something to `stream`
 * (CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for a default stream). */
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
