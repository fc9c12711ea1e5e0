/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the time that the daemon's event loop spends on work whose length tenants can influence.
 *
 * All of the time is charged, however short a piece of work is, because tenants choose the number
 * of pieces. Each owner has an account of its own, with BUDGET_OWN_BURST_NS at once; used time
 * takes BUDGET_OWN_SHARE times as long to be repaid. Time beyond that comes from a part that all
 * owners share: 1/BUDGET_SHARE of the time, with BUDGET_BURST_NS at once when it was not used
 * before. So the total time is bounded, and so is the time in one turn of the loop. An owner whose
 * work is short gets it done whatever other owners do. If several wait for the shared part, the one
 * that asked first gets it for BUDGET_TURN_NS.
 *
 * The cost of work is known only afterwards, and can exceed what was granted. The owner then owes
 * the excess too, and has no time of its own until it is repaid.
 *
 * No function reads a clock. Session ids are random numbers that the daemon draws, so no tenant can
 * choose an id whose key equals that of another session.
 */
#ifndef ALIQUOT_DAEMON_BASE_BUDGET_H
#define ALIQUOT_DAEMON_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/accounts.h"

/* There are two budgets, each with this share: folder.c has one for listings with their names, and
 * one for checks for living processes. */
#define BUDGET_SHARE 30u
#define BUDGET_BURST_NS UINT64_C(100000000)
#define BUDGET_OWN_SHARE 500u
#define BUDGET_OWN_BURST_NS UINT64_C(2000000)
/* if an owner has less time left, its work is not begun */
#define BUDGET_OWN_MIN_NS UINT64_C(100000)
#define BUDGET_TURN_NS UINT64_C(3000000000)

struct budget {
        uint64_t max_ns;  /* maximum time of one piece of work; at most BUDGET_BURST_NS */
        uint64_t full_ns; /* time at which everything used of the shared part is repaid */
        /* until then only `turn` may use the shared part; 0: nobody waits for it */
        uint64_t turn_ns;
        uint32_t turn;
        bool is_own;      /* the last grant came from the owner's own account */
        uint64_t left_ns; /* time of the last grant that was not used */
        struct accounts accounts;
};

struct budget_work {
        const uint8_t *id; /* the session's id: 16 bytes */
        uint64_t payer;    /* sessions_payer() */
};

/* Returns how long this work may take now. 0: it must not begin now; ask again later. */
uint64_t budget_begin(struct budget *budget, const struct budget_work *work, uint64_t now_ns);

/* Charges the time that the last work took. */
void budget_end(struct budget *budget, const struct budget_work *work, uint64_t now_ns,
                uint64_t used_ns);

/* Returns the unused time of the last grant, which may be spent on a further part of the work. That
 * part ends with budget_end() too. */
uint64_t budget_left(const struct budget *budget);

#endif
