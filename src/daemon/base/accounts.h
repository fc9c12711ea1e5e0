/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An account of time for each owner of sessions: what it used is paid back as time goes by.
 *
 *      account = accounts_find(&accounts, uid, now_ns)
 *      accounts_room(account, &terms, now_ns)          // what it may use now
 *      accounts_charge(account, &terms, now_ns, used_ns)
 *
 * All zero at first. An account that is paid back is no different from a new one, so its place is
 * given to whoever comes next. While ACCOUNTS_PLACES owe, whoever else comes shares one account,
 * and never one of theirs. Pure: the time is a parameter. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_ACCOUNTS_H
#define ALIQUOT_DAEMON_BASE_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#define ACCOUNTS_PLACES 4096u /* as many owners as there may be sessions */

struct owner_account {
        bool is_taken; /* since the first who came */
        uint32_t uid;
        uint32_t left_out; /* lines of the log (owner_log.h) */
        uint64_t full_ns;  /* when all that was used is paid back */
};

struct accounts {
        struct owner_account place[ACCOUNTS_PLACES];
        struct owner_account others; /* of all who found no place */
};

struct account_terms {
        uint64_t share;    /* used time is paid back in so many times as much */
        uint64_t burst_ns; /* what may be used at once after a rest */
};

/* The account of an owner, valid until the next one is looked for. */
struct owner_account *accounts_find(struct accounts *accounts, uint32_t uid, uint64_t now_ns);

/* What the owner may still use; 0: more was used than is paid back. */
uint64_t accounts_room(const struct owner_account *account, const struct account_terms *terms,
                       uint64_t now_ns);
void accounts_charge(struct owner_account *account, const struct account_terms *terms,
                     uint64_t now_ns, uint64_t used_ns);

#endif
