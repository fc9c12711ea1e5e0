/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: decides what a user may have of a node, and names the rule that decides it.
 *
 *      policy_resolve(&policy, &who, &cards, &grant);  // the bound of each key, and its rule
 *      policy_find_excess(&grant, asked, had)          // the first key that exceeds its bound
 *
 * A rule applies to everybody, to a user, to a group or to a profile (a share that an administrator
 * prepared for containers). It has bounds for some of the keys. Each key is decided separately, by
 * the most specific rule that has a bound for it:
 *
 *      user, else group, else everybody
 *
 * If several rules are equally specific (a user is in several groups), the one that allows most
 * decides; for POLICY_GPUS, the sets of all of them are joined. A key for which no rule has a bound
 * is unlimited. A request that uses a profile is bounded by the rules of that profile alone: an
 * administrator made the profile, and the containers of many users have it.
 *
 * This module does not know who is exempt from the rules; its caller does. The functions do no I/O
 * and remember nothing between calls. The caller has already resolved user and group names to
 * numbers.
 */
#ifndef ALIQUOT_CORE_POLICY_H
#define ALIQUOT_CORE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_RULES_MAX 64u /* limited by the bit masks of struct policy_grant */
#define POLICY_NAME_BYTES 64u
#define POLICY_CARDS_MAX 16u
#define POLICY_ANY UINT64_MAX /* the bound of an unlimited key */

/* The keys, in the order in which policy_find_excess() checks them. */
enum policy_key {
        POLICY_GPUS,   /* a set; bit i stands for the GPU at index i of struct policy_cards */
        POLICY_MEMORY, /* bytes of one session, summed over all its GPUs */
        POLICY_MEMORY_IN_ALL, /* bytes of all sessions of one user, or of one profile */
        /* the cap of a session on a GPU, in thousandths of a percent of the GPU's time */
        POLICY_COMPUTE,
        /* sum of the guarantees of one user's (or profile's) sessions on all GPUs, in the unit of
         * the cap */
        POLICY_GUARANTEE_IN_ALL,
        POLICY_WEIGHT,
        POLICY_PRIORITY, /* priority of a session: 0 batch, 1 normal, 2 rt */
        POLICY_SESSIONS, /* number of sessions of one user, or of one profile */
        POLICY_TTL,      /* nanoseconds; a session without an end asks for POLICY_ANY */
        POLICY_SWAP,     /* whether a session may swap: 0 no, 1 yes */
        POLICY_KEYS,
};

/* To whom a rule applies, from the least specific kind to the most specific one. */
enum policy_kind {
        POLICY_EVERYBODY,
        POLICY_GROUP,
        POLICY_USER,
        POLICY_PROFILE,
        POLICY_KINDS,
};

/* Selects a GPU by the beginning of its UUID. */
struct policy_gpu {
        uint8_t uuid[16];
        uint8_t digits; /* number of hexadecimal digits given, 1 to 32 */
};

struct policy_rule {
        enum policy_kind kind;
        char name[POLICY_NAME_BYTES]; /* as the administrator wrote it; "" for everybody */
        uint32_t id;   /* uid or gid; unused for a profile, which is identified by its name */
        uint32_t said; /* a bit for each key that the rule bounds */
        /* a bit for each key whose bound in most[] is a percentage of the largest card */
        uint32_t of_card;
        uint64_t most[POLICY_KEYS]; /* the bound of each key except POLICY_GPUS */
        uint32_t gpu_count; /* number of GPUs in gpu[], the bound of POLICY_GPUS; 0: any GPU */
        struct policy_gpu gpu[POLICY_CARDS_MAX];
};

struct policy {
        unsigned count;
        struct policy_rule rule[POLICY_RULES_MAX];
};

/* The requester, as identified by the kernel. Borrowed for the call. */
struct policy_who {
        uint32_t uid;
        const uint32_t *group;
        unsigned group_count;
        const char *profile; /* the profile that the request uses; NULL: none */
};

/* The GPUs that the node knows. */
struct policy_cards {
        unsigned count;
        uint8_t uuid[POLICY_CARDS_MAX][16];
        /* memory of the largest card; 0: unknown, and percentages of it are no bound yet */
        uint64_t largest_bytes;
};

struct policy_grant {
        uint64_t most[POLICY_KEYS];  /* the bound of each key; POLICY_ANY: unlimited */
        uint64_t rules[POLICY_KEYS]; /* a bit for each rule that decides the key; 0: no rule does */
};

/* Return the name of a key, such as "memory_in_all", and of a kind, such as "user" ("" for
 * everybody). */
const char *policy_key_name(enum policy_key key);
const char *policy_kind_name(enum policy_kind kind);

void policy_resolve(const struct policy *policy, const struct policy_who *who,
                    const struct policy_cards *cards, struct policy_grant *ret);

/* Sets a grant without any bound, for requesters that are exempt from the rules. */
void policy_grant_all(struct policy_grant *ret);

/* Returns the first key for which `asked` exceeds both the bound of the grant and `had`, the value
 * that the session had before; POLICY_KEYS if there is none. */
enum policy_key policy_find_excess(const struct policy_grant *grant,
                                   const uint64_t asked[POLICY_KEYS],
                                   const uint64_t had[POLICY_KEYS]);

#endif
