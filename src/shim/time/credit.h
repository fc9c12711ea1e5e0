/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submissions that a thread may make without asking: the hot path of the gate.
 *
 *      credit_enter(credit);
 *      while (!credit_spend(credit, key, hint))
 *              ... credit_leave(credit), the slow path, credit_enter(credit) ...
 *      rc = the driver's call;
 *      credit_leave(credit);
 *
 * A credit is good for one stream of one context, for as long as nobody shut the session's gate,
 * changed its limits, raised the turn of the device's lease, or raised the device's epoch. It is
 * spent without a lock, a clock or an atomic read-modify-write. `calls` says that the thread is
 * past the check: whoever raised one of those words and then made all threads see it (fence.h)
 * knows of each thread whether it may still submit on the old ones.
 *
 * Calls that are no submissions but touch a device's memory have no credit: they check the
 * session's gate alone, between the same enter and leave (shim/cuda/stream/access.h).
 *
 * Nobody else reads or writes a thread's credit. What others do is in its struct caller, which is
 * there when the thread has ended.
 */
#ifndef ALIQUOT_SHIM_TIME_CREDIT_H
#define ALIQUOT_SHIM_TIME_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"
#include "shim/time/window.h"

struct time_stream;

/* A thread, as others see it (fence.h). `calls` is written by it alone. */
struct caller {
        _Alignas(64) _Atomic uint32_t calls; /* on their way to the driver */
        /* 1: the thread makes its own fence at each call, since no other can make it for it. */
        _Atomic uint32_t is_fenced;
        const struct credit *owner; /* NULL: free */
};

/* Of all threads that are not known yet; what it says is read by nobody. */
extern struct caller caller_unknown;

struct credit {
        struct caller *caller;
        int32_t left;    /* units (window.h); 0: none, and nothing below is good */
        uint64_t stream; /* as the program names it */
        uint64_t is_any; /* all ones: of whatever stream, context and device */
        /* limits_page.gate and .epoch, read as one; of a process without a session, a 0. */
        const _Atomic uint64_t *gate;
        uint64_t gate_seen;
        const _Atomic uint32_t *turn; /* page_lease.turn */
        uint32_t turn_seen;
        uint32_t epoch_seen;
        const _Atomic uint32_t *epoch; /* the device's, in this process */

        struct time_stream *of; /* NULL: not metered */
        uint64_t context;       /* in which `stream` means what it meant; 0: it means one always */
        uint32_t number;   /* of the thread, from 1, never used again; 0: it is not known yet */
        uint32_t spent;    /* submissions that were made on it */
        bool is_unbounded; /* nothing of the window is left to be returned */
        bool is_marked;    /* what is submitted is told of by a marker (stream_mark_end()) */
        /* The default stream that it was last given for: what that is need not be asked again. */
        struct time_stream *home;
        uint64_t home_key, home_context;
};

/* In the thread's static block, at a fixed distance from its pointer. */
extern _Thread_local struct credit credit_here __attribute__((tls_model("initial-exec")));

static inline void credit_enter(const struct credit *credit)
{
        struct caller *caller = credit->caller;

        store_relaxed(&caller->calls, load_relaxed(&caller->calls) + 1);
        fence_compiler();
        if (__builtin_expect(load_relaxed(&caller->is_fenced), 0))
                fence_seq_cst();
}

static inline void credit_leave(const struct credit *credit)
{
        struct caller *caller = credit->caller;

        fence_compiler();
        store_relaxed(&caller->calls, load_relaxed(&caller->calls) - 1);
}

static inline bool credit_holds(const struct credit *credit)
{
        return ((load_relaxed(credit->gate) ^ credit->gate_seen) |
                (load_relaxed(credit->turn) ^ credit->turn_seen) |
                (load_relaxed(credit->epoch) ^ credit->epoch_seen)) == 0;
}

/* Spends one submission of this thread's credit; true: it may be made. */
static inline bool credit_spend(struct credit *credit, uint64_t stream, uint32_t hint)
{
        int32_t left = credit->left - (int32_t)window_weight(hint);

        if (__builtin_expect(left < 0, 0))
                return false;
        if (__builtin_expect(
                    ((stream ^ credit->stream) & ~credit->is_any) != 0 || !credit_holds(credit), 0))
                return false;
        credit->left = left;
        credit->spent++;
        return true;
}

/* Nothing that this thread submits is metered, as far as it has heard. */
static inline bool credit_is_free(const struct credit *credit)
{
        return credit->is_any != 0 && credit->left > 0;
}

/* As credit_is_free(), and nothing has changed since the thread heard it. */
static inline bool credit_is_free_still(struct credit *credit)
{
        return credit_is_free(credit) && credit_holds(credit);
}

#endif
