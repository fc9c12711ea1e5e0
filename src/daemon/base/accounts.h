/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time account for each owner of sessions; a debt is repaid as time passes.
 *
 *      account = accounts_find(&accounts, uid, now_ns)
 *      accounts_room(account, &terms, now_ns)          // what it may use now
 *      accounts_charge(account, &terms, now_ns, used_ns)
 *
 * All zero at first. A repaid account equals a new one, so its entry is given to the next owner.
 * While ACCOUNTS_PLACES owners owe time, all further owners share one extra account. Pure: the time
 * is a parameter. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_ACCOUNTS_H
#define ALIQUOT_DAEMON_BASE_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#define ACCOUNTS_PLACES 4096u /* as many owners as there may be sessions */

struct owner_account {
        bool is_taken; /* in use, since its first owner */
        uint32_t uid;
        uint32_t left_out; /* lines of the log (owner_log.h) */
        uint64_t full_ns;  /* when all that was used is paid back */
};

struct accounts {
        struct owner_account place[ACCOUNTS_PLACES];
        struct owner_account others; /* shared by owners without an entry */
};

struct account_terms {
        uint64_t share;    /* used time takes this many times as long to be repaid */
        uint64_t burst_ns; /* maximum use at once after a rest */
};

/* The account of an owner, valid until the next search. */
struct owner_account *accounts_find(struct accounts *accounts, uint32_t uid, uint64_t now_ns);

/* What the owner may still use; 0: it owes time. */
uint64_t accounts_room(const struct owner_account *account, const struct account_terms *terms,
                       uint64_t now_ns);
void accounts_charge(struct owner_account *account, const struct account_terms *terms,
                     uint64_t now_ns, uint64_t used_ns);

#endif
