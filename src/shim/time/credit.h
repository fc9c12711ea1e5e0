/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credit: a number of submissions that a thread may make without asking the gate (gate.c). This is
 * the hot path of a submission.
 *
 *      credit_enter(credit);
 *      while (!credit_spend(credit, key, hint))
 *              ... credit_leave(credit), the slow path, credit_enter(credit) ...
 *      rc = the driver's call;
 *      credit_leave(credit);
 *
 * A credit is valid for one stream of one context. It ends when the session's gate closes, its
 * limits change, the device's lease gets another turn, or the device's epoch is raised. Each of
 * these changes one word in memory, and spending a credit compares these words: it takes no lock,
 * no clock and no atomic read-modify-write. `calls` is raised while the thread is between the check
 * and the end of the driver's call. So a thread that changes one of the words, and then makes all
 * threads see that (fence.h), knows of each thread whether it may still submit under the old words.
 *
 * Calls that submit no work but access a device's memory need no credit: they check only the
 * session's gate, between the same credit_enter() and credit_leave() (shim/cuda/stream/access.h).
 *
 * No other thread reads or writes a thread's credit. What other threads need is in the thread's
 * struct caller, which still exists when the thread has ended.
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
        /* number of calls of this thread on their way to the driver */
        _Alignas(64) _Atomic uint32_t calls;
        /* 1: the thread makes a memory fence of its own at each call, because other threads
         * cannot make one for it. */
        _Atomic uint32_t is_fenced;
        const struct credit *owner; /* NULL: this entry is free */
};

/* The caller of all threads that are not in the table yet. No thread reads it. */
extern struct caller caller_unknown;

struct credit {
        struct caller *caller;
        /* units of GPU time (window.h); 0: no credit, and the fields below are invalid */
        int32_t left;
        uint64_t stream; /* the stream, by the program's handle */
        uint64_t is_any; /* all ones: valid for any stream, context and device; else 0 */
        /* limits_page.gate and .epoch, read as one word; without a session, a word that is
         * always 0. */
        const _Atomic uint64_t *gate;
        uint64_t gate_seen;
        const _Atomic uint32_t *turn; /* page_lease.turn */
        uint32_t turn_seen;
        uint32_t epoch_seen;
        /* the device's epoch in this process, see struct time_device */
        const _Atomic uint32_t *epoch;

        /* the stream to which the submissions are accounted; NULL: they are not metered */
        struct time_stream *of;
        uint64_t context; /* the context in which `stream` has this meaning; 0: in any context */
        /* number of the thread, from 1, never reused; 0: the thread is not in the table yet */
        uint32_t number;
        uint32_t spent; /* number of submissions made on this credit */
        /* the credit was given without a bound, so no rest goes back to the window */
        bool is_unbounded;
        bool is_marked; /* a marker must follow each submission (stream_mark_end()) */
        /* The default stream of the last credit. If the next submission is to the same default
         * stream, the program need not be asked again which stream that is. */
        struct time_stream *home;
        uint64_t home_key, home_context;
};

/* This thread's credit. It is in the static TLS block, at a fixed distance from the thread
 * pointer. */
extern _Thread_local struct credit credit_here __attribute__((tls_model("initial-exec")));

/* Begins a call to the driver: from now on, threads that close the gate wait for this call. */
static inline void credit_enter(const struct credit *credit)
{
        struct caller *caller = credit->caller;

        store_relaxed(&caller->calls, load_relaxed(&caller->calls) + 1);
        fence_compiler();
        if (__builtin_expect(load_relaxed(&caller->is_fenced), 0))
                fence_seq_cst();
}

/* Ends the call to the driver. */
static inline void credit_leave(const struct credit *credit)
{
        struct caller *caller = credit->caller;

        fence_compiler();
        store_relaxed(&caller->calls, load_relaxed(&caller->calls) - 1);
}

/* Whether no word has changed since the credit was given. */
static inline bool credit_holds(const struct credit *credit)
{
        return ((load_relaxed(credit->gate) ^ credit->gate_seen) |
                (load_relaxed(credit->turn) ^ credit->turn_seen) |
                (load_relaxed(credit->epoch) ^ credit->epoch_seen)) == 0;
}

/* Spends one submission of this thread's credit. Returns true if the thread may submit. */
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

/* Whether the thread's submissions were unmetered when it got its credit. */
static inline bool credit_is_free(const struct credit *credit)
{
        return credit->is_any != 0 && credit->left > 0;
}

/* Whether the thread's submissions are unmetered, and nothing has changed since it got its
 * credit. */
static inline bool credit_is_free_still(struct credit *credit)
{
        return credit_is_free(credit) && credit_holds(credit);
}

#endif
