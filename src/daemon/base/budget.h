/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of its time the daemon's loop gives to work that tenants can lengthen.
 *
 * All that such work takes is charged, however little each piece is: a tenant chooses how many
 * pieces there are. Each owner has BUDGET_OWN_BURST_NS of its own, which is paid back in
 * BUDGET_OWN_SHARE times as long. What an owner takes beyond that comes from what all share: a
 * BUDGET_SHAREth of the time, with BUDGET_BURST_NS in advance after a rest. So both the sum over
 * time and what comes together in one turn of the loop are bounded, and an owner whose work is
 * short has it done whatever others do. Of those who wait for the shared part, the first one has
 * its turn before any other.
 *
 * What work costs shows only when it is done, and one step of it can take long already: then its
 * owner owes that as well, and has nothing of its own until it is paid back.
 *
 * Pure: the time is a parameter. An id is one that the daemon drew, so its bytes are random and no
 * tenant chooses with whom it shares a place here.
 */
#ifndef ALIQUOT_DAEMON_BASE_BUDGET_H
#define ALIQUOT_DAEMON_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/accounts.h"

#define BUDGET_SHARE 30u /* listings with their names, and looks for life, have one each */
#define BUDGET_BURST_NS UINT64_C(100000000)
#define BUDGET_OWN_SHARE 500u
#define BUDGET_OWN_BURST_NS UINT64_C(2000000)
#define BUDGET_OWN_LEAST_NS UINT64_C(100000) /* with less, work is not begun */
#define BUDGET_TURN_NS UINT64_C(3000000000)

struct budget {
        uint64_t most_ns; /* of one piece of work; at most the burst */
        uint64_t full_ns; /* when all of the shared part that was used is paid back */
        uint64_t turn_ns; /* until then it is the turn of `turn`; 0: nobody waits */
        uint32_t turn;
        bool is_own;      /* what was granted last is the owner's own */
        uint64_t left_ns; /* of what was granted last */
        struct accounts accounts;
};

struct budget_work {
        const uint8_t *id; /* 16 bytes: of the session */
        uint32_t owner;
};

/* How much time this work may take now. 0: none, ask again later. */
uint64_t budget_begin(struct budget *budget, const struct budget_work *work, uint64_t now_ns);

/* What the work that was begun last took. */
void budget_end(struct budget *budget, const struct budget_work *work, uint64_t now_ns,
                uint64_t used_ns);

/* What it left of its time, for another part of it; that ends with budget_end() too. */
uint64_t budget_left(const struct budget *budget);

#endif
