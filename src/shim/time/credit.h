/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credit: submissions that a thread may make without asking. It is the hot path of the gate.
 *
 *      credit_enter(credit);
 *      while (!credit_spend(credit, key, hint))
 *              ... credit_leave(credit), the slow path, credit_enter(credit) ...
 *      rc = the driver's call;
 *      credit_leave(credit);
 *
 * A credit is valid for one stream of one context, until the session's gate shuts, its limits
 * change, the device's lease gets another turn, or the device's epoch is raised. Each of these
 * changes one word in memory. Spending a credit takes no lock, no clock and no atomic
 * read-modify-write. `calls` counts while the thread is past the check. So a thread that changes
 * one of those words and then makes all threads see it (fence.h) knows of each thread whether it
 * may still submit under the old words.
 *
 * Calls that submit nothing but touch a device's memory have no credit: they check the session's
 * gate alone, between the same enter and leave (shim/cuda/stream/access.h).
 *
 * No other thread reads or writes a thread's credit. What other threads need is in its struct
 * caller, which still exists when the thread has ended.
 */
#ifndef ALIQUOT_SHIM_TIME_CREDIT_H
#define ALIQUOT_SHIM_TIME_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"
#include "shim/time/window.h"

struct time_stream;

/* A thread, as other threads see it (fence.h). Only the thread itself writes `calls`. */
struct caller {
        _Alignas(64) _Atomic uint32_t calls; /* calls of this thread on their way to the driver */
        /* 1: the thread makes its own fence at each call, because no other thread can make it for
         * it. */
        _Atomic uint32_t is_fenced;
        const struct credit *owner; /* NULL: this entry is free */
};

/* Shared by all threads that are not in the table yet; no thread reads it. */
extern struct caller caller_unknown;

struct credit {
        struct caller *caller;
        int32_t left;    /* units (window.h); 0: no credit, and the fields below are invalid */
        uint64_t stream; /* the program's handle */
        uint64_t is_any; /* all ones: valid for any stream, context and device */
        /* limits_page.gate and .epoch, read as one word; without a session, a word that is 0. */
        const _Atomic uint64_t *gate;
        uint64_t gate_seen;
        const _Atomic uint32_t *turn; /* page_lease.turn */
        uint32_t turn_seen;
        uint32_t epoch_seen;
        const _Atomic uint32_t *epoch; /* the device's epoch, in this process */

        struct time_stream *of; /* NULL: not metered */
        uint64_t context;       /* the context in which `stream` has this meaning; 0: in any */
        uint32_t number;   /* of the thread, from 1, never reused; 0: the thread is not known yet */
        uint32_t spent;    /* submissions made on this credit */
        bool is_unbounded; /* no rest of it goes back to the window */
        bool is_marked;    /* a marker must follow each submission (stream_mark_end()) */
        /* The default stream of the last credit; asking which one that is can be skipped then. */
        struct time_stream *home;
        uint64_t home_key, home_context;
};

/* In the thread's static TLS block, at a fixed distance from the thread pointer. */
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

/* Spends one submission of this thread's credit; true: the thread may submit. */
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

/* Whether the thread's submissions are unmetered, as far as the thread knows. */
static inline bool credit_is_free(const struct credit *credit)
{
        return credit->is_any != 0 && credit->left > 0;
}

/* As credit_is_free(), and nothing has changed since the credit was given. */
static inline bool credit_is_free_still(struct credit *credit)
{
        return credit_is_free(credit) && credit_holds(credit);
}

#endif
