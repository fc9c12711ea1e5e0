/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a time account for each owner of sessions: used time is a debt that is repaid as time
 * passes. An owner is a user, by uid, or a container (sessions_payer()).
 *
 *      account = accounts_find(&accounts, payer, now_ns)
 *      accounts_room(account, &terms, now_ns)          // time that it may use now
 *      accounts_charge(account, &terms, now_ns, used_ns)
 *
 * Set `accounts` to zeroes before the first call. A repaid account equals a new one, so its entry
 * is given to the next owner. While ACCOUNTS_PLACES owners owe time, all further owners share one
 * extra account. No function reads a clock. One thread.
 */
#ifndef ALIQUOT_DAEMON_BASE_ACCOUNTS_H
#define ALIQUOT_DAEMON_BASE_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#define ACCOUNTS_NAME_BYTES 24u
#define ACCOUNTS_PLACES 4096u

struct owner_account {
        bool is_taken; /* the entry was used at least once */
        uint64_t payer;
        uint32_t left_out; /* log lines or events left out since the last one (owner_log.h) */
        uint64_t full_ns;  /* time at which everything used is repaid */
};

struct accounts {
        struct owner_account place[ACCOUNTS_PLACES];
        struct owner_account others; /* shared by owners that have no entry of their own */
};

struct account_terms {
        uint64_t share;    /* 1 ns of use takes this many nanoseconds to be repaid */
        uint64_t burst_ns; /* maximum use at once, when everything is repaid */
};

/* Returns the account of an owner, valid until the next call. */
struct owner_account *accounts_find(struct accounts *accounts, uint64_t payer, uint64_t now_ns);

/* Returns the time that the owner may still use; 0: none. */
uint64_t accounts_room(const struct owner_account *account, const struct account_terms *terms,
                       uint64_t now_ns);
/* Whether the owner is a container. */
static inline bool accounts_is_container(uint64_t payer)
{
        return payer > UINT32_MAX;
}

/* Writes who an owner is, for messages: "user 1000", or "a container". Returns `ret`. */
const char *accounts_name(uint64_t payer, char ret[ACCOUNTS_NAME_BYTES]);

void accounts_charge(struct owner_account *account, const struct account_terms *terms,
                     uint64_t now_ns, uint64_t used_ns);

#endif
