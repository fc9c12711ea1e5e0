/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of its time the daemon's loop gives to work that tenants can lengthen.
 *
 * Cheap work always runs. What takes longer is granted as long as all of it together takes a
 * BUDGET_SHAREth of the time, with BUDGET_BURST_NS in advance after a rest: however many ask, the
 * sum is bounded. What a tenant's work costs shows only when it is done, and one step of it can be
 * dear already; so whoever was dear the last time has to wait while the budget is out, and nobody
 * else has. Of those who wait, the first one has its turn before any other.
 *
 * Pure: the time is a parameter. An id is one that the daemon drew, so its bytes are random and no
 * tenant chooses with whom it shares a place here.
 */
#ifndef ALIQUOT_DAEMON_BUDGET_H
#define ALIQUOT_DAEMON_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_SHARE 30u /* listings and names have one each */
#define BUDGET_BURST_NS UINT64_C(300000000)
#define BUDGET_CHEAP_NS UINT64_C(2000000)
#define BUDGET_TURN_NS UINT64_C(3000000000)
#define BUDGET_PLACES 65536u

struct budget {
        uint64_t most_ns; /* of one piece of work; at most the burst */
        uint64_t full_ns; /* when all that was used is paid back */
        uint64_t turn_ns; /* until then it is the turn of `turn`; 0: nobody waits */
        uint32_t turn;
        bool is_dear[BUDGET_PLACES]; /* the last work for it was not cheap */
};

/* How much time work for this session may take now. 0: none, ask again later. */
uint64_t budget_begin(struct budget *budget, const uint8_t id[16], uint64_t now_ns);

/* What it took. */
void budget_end(struct budget *budget, const uint8_t id[16], uint64_t now_ns, uint64_t used_ns);

#endif
