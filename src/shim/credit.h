/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that a thread may make without asking: the hot path of the gate.
 *
 *      if (!credit_spend(&credit_here, key, cost_doubt(what)))
 *              ... the slow path, which ends in more credit ...
 *
 * A credit is good for one stream of one context, for as long as nobody shut the session's gate,
 * changed its limits, or raised the turn of the device's lease; and for kernels that are known to
 * be short, as it was paid for by their average. It is spent without a lock, a clock or an atomic
 * read-modify-write. Nobody but its thread touches it; what was not spent when it stops being good
 * was paid for, and is given back by the slow path or at the thread's end.
 */
#ifndef ALIQUOT_SHIM_CREDIT_H
#define ALIQUOT_SHIM_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"

struct credit {
        _Alignas(64) int32_t left; /* 0: none, and nothing below is good */
        uint32_t turn_seen;
        uint64_t stream;      /* as the program names it */
        uint64_t is_any;      /* all ones: of whatever stream, context and device */
        uint64_t is_any_work; /* all ones: of whatever length */
        /* limits_page.gate and .epoch, read as one; of a process without a session, a 0. */
        const _Atomic uint64_t *gate;
        uint64_t gate_seen;
        const _Atomic uint32_t *turn; /* page_lease.turn */
        uint64_t context;             /* in which `stream` means what it meant */

        /* For whoever settles it. */
        uint64_t piece_ns; /* what was paid for each */
        uint32_t granted;  /* `left` at first */
        uint32_t unspent;  /* was `left` when it stopped being good */
        int32_t at_wait;   /* what was left when the program last waited; -1: it has not since */
        uint64_t lane;     /* the front end's */
};

/* In the thread's static block, at a fixed distance from its pointer. */
extern _Thread_local struct credit credit_here __attribute__((tls_model("initial-exec")));

/* True: one launch was paid for. `doubt`: not 0 if what is launched may be long. */
static inline bool credit_spend(struct credit *credit, uint64_t stream, uint64_t doubt)
{
        int32_t left = credit->left - 1;

        if (__builtin_expect(left < 0, 0))
                return false;
        if (__builtin_expect((((stream ^ credit->stream) & ~credit->is_any) |
                              (doubt & ~credit->is_any_work) |
                              (load_relaxed(credit->gate) ^ credit->gate_seen) |
                              (load_relaxed(credit->turn) ^ credit->turn_seen)) != 0,
                             0))
                return false;
        credit->left = left;
        return true;
}

/* What was paid for and may still be spent, or could have been. */
static inline uint32_t credit_unspent(const struct credit *credit)
{
        return credit->left > 0 ? (uint32_t)credit->left : credit->unspent;
}

/* The lane for which all that was granted is spent, and nothing else cut it short; 0: none. */
static inline uint64_t credit_drawn(const struct credit *credit)
{
        return credit_unspent(credit) ? 0 : credit->lane;
}

/* The thread is about to do something after which its streams may mean other ones. */
static inline void credit_stop(struct credit *credit)
{
        if (credit->left > 0 && !credit->is_any) {
                credit->unspent = (uint32_t)credit->left;
                credit->left = 0;
        }
}

#endif
