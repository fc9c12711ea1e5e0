/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: the rules that say what a user may take of a node, and by which rule.
 *
 *      policy_resolve(&policy, &who, &cards, &grant);  // the bound of each key, and whose rule it
 * is policy_find_excess(&grant, asked, had)          // the first key that is asked beyond it
 *
 * A rule is of everybody, of a user, of a group or of a profile (a share that an administrator
 * prepared for containers). It has a bound for some of the keys. For each key by itself the nearest
 * rule that has the key decides:
 *
 *      user, else group, else everybody
 *
 * Of several rules that are equally near (a user is in several groups) the one that allows most
 * decides; for POLICY_GPUS, all of them together. A key that no rule has is not bounded. A process
 * that comes by a profile is bounded by the rules of that profile alone: an administrator made the
 * profile, and many users' containers have it.
 *
 * Whoever may do everything is no matter of this module: the caller knows that. Pure: names are
 * numbers already, and nothing is remembered between two calls.
 */
#ifndef ALIQUOT_CORE_POLICY_H
#define ALIQUOT_CORE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_RULES_MAX 64u /* a bit each in struct policy_grant */
#define POLICY_NAME_BYTES 64u
#define POLICY_CARDS_MAX 16u
#define POLICY_ANY UINT64_MAX /* no bound */

/* In the order in which they are looked at: the first one that is exceeded is told. */
enum policy_key {
        POLICY_GPUS,             /* a set, bit i: the GPU at place i of struct policy_cards */
        POLICY_MEMORY,           /* bytes, of one session, on all its GPUs */
        POLICY_MEMORY_IN_ALL,    /* bytes, of all sessions of one user, or of one profile */
        POLICY_COMPUTE,          /* the cap of a session, in thousandths of a percent */
        POLICY_GUARANTEE_IN_ALL, /* likewise; of all sessions of one user, each on each GPU */
        POLICY_WEIGHT,
        POLICY_PRIORITY, /* 0 batch, 1 normal, 2 rt */
        POLICY_SESSIONS, /* of one user */
        POLICY_TTL,      /* ns; a session without an end asks for POLICY_ANY */
        POLICY_SWAP,     /* 0 no, 1 yes */
        POLICY_KEYS,
};

/* The nearest last. */
enum policy_kind {
        POLICY_EVERYBODY,
        POLICY_GROUP,
        POLICY_USER,
        POLICY_PROFILE,
        POLICY_KINDS,
};

/* The beginning of a GPU's UUID. */
struct policy_gpu {
        uint8_t uuid[16];
        uint8_t digits; /* hexadecimal, 1 to 32 */
};

struct policy_rule {
        enum policy_kind kind;
        char name[POLICY_NAME_BYTES]; /* as the administrator wrote it; of everybody: "" */
        uint32_t id;                  /* uid or gid; a profile is known by its name */
        uint32_t said;                /* bit per key: the rule has it */
        uint32_t of_card;             /* bit per key: most[] is a percentage of the largest card */
        uint64_t most[POLICY_KEYS];   /* but of POLICY_GPUS: */
        uint32_t gpu_count;           /* 0: any GPU */
        struct policy_gpu gpu[POLICY_CARDS_MAX];
};

struct policy {
        unsigned count;
        struct policy_rule rule[POLICY_RULES_MAX];
};

/* Who asks, by the kernel's word. Borrowed for the call. */
struct policy_who {
        uint32_t uid;
        const uint32_t *group;
        unsigned group_count;
        const char *profile; /* NULL: not by a profile */
};

/* The GPUs that the node knows. */
struct policy_cards {
        unsigned count;
        uint8_t uuid[POLICY_CARDS_MAX][16];
        uint64_t largest_bytes; /* 0: none is known, and a percentage of it is no bound yet */
};

struct policy_grant {
        uint64_t most[POLICY_KEYS];  /* POLICY_ANY: no bound */
        uint64_t rules[POLICY_KEYS]; /* bit per rule that decides the key; 0: none has it */
};

/* "memory_in_all"; "user", and "" of everybody. */
const char *policy_key_name(enum policy_key key);
const char *policy_kind_name(enum policy_kind kind);

void policy_resolve(const struct policy *policy, const struct policy_who *who,
                    const struct policy_cards *cards, struct policy_grant *ret);

/* No bound at all, for whoever may do everything. */
void policy_grant_all(struct policy_grant *ret);

/* The first key of which more is asked than the grant has and than was had before; POLICY_KEYS:
 * none. */
enum policy_key policy_find_excess(const struct policy_grant *grant,
                                   const uint64_t asked[POLICY_KEYS],
                                   const uint64_t had[POLICY_KEYS]);

#endif
