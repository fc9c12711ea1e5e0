/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the time that the daemon's loop gives to work whose length tenants can influence.
 *
 * All of the time is charged, however short a piece of work is, because tenants choose the number
 * of pieces. Each owner has BUDGET_OWN_BURST_NS of its own, which takes BUDGET_OWN_SHARE times as
 * long to be repaid. More than that comes from a shared part: a BUDGET_SHAREth of the time, with
 * BUDGET_BURST_NS in advance after a rest. So the sum over time is bounded, and so is the work in
 * one turn of the loop. An owner whose work is short gets it done whatever others do. Of the owners
 * that wait for the shared part, the first one is served first.
 *
 * The cost of work is known only afterwards, and one step of it can already take long; the owner
 * then owes that too, and has no time of its own until it is repaid.
 *
 * Pure: the time is a parameter. Ids are random numbers from the daemon, so no tenant can choose an
 * id that shares an entry with another's.
 */
#ifndef ALIQUOT_DAEMON_BASE_BUDGET_H
#define ALIQUOT_DAEMON_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/accounts.h"

/* listings with their names, and checks for living processes, have one each */
#define BUDGET_SHARE 30u
#define BUDGET_BURST_NS UINT64_C(100000000)
#define BUDGET_OWN_SHARE 500u
#define BUDGET_OWN_BURST_NS UINT64_C(2000000)
#define BUDGET_OWN_MIN_NS UINT64_C(100000) /* with less, work is not begun */
#define BUDGET_TURN_NS UINT64_C(3000000000)

struct budget {
        uint64_t most_ns; /* maximum of one piece of work; at most the burst */
        uint64_t full_ns; /* when all of the shared part that was used is paid back */
        uint64_t turn_ns; /* until then it is the turn of `turn`; 0: no owner waits */
        uint32_t turn;
        bool is_own;      /* the last grant came from the owner's own part */
        uint64_t left_ns; /* rest of the last grant */
        struct accounts accounts;
};

struct budget_work {
        const uint8_t *id; /* 16 bytes: of the session */
        uint32_t owner;
};

/* How long this work may take now. 0: not at all, ask again later. */
uint64_t budget_begin(struct budget *budget, const struct budget_work *work, uint64_t now_ns);

/* Charges what the last work took. */
void budget_end(struct budget *budget, const struct budget_work *work, uint64_t now_ns,
                uint64_t used_ns);

/* The unused time of the last grant, for another part of the work; end that with budget_end()
 * too. */
uint64_t budget_left(const struct budget *budget);

#endif
