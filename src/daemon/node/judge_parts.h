/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What node_judge.c, node_answer.c, node_claims.c, node_held.c and node_told.c share, and nobody
 * else: what is remembered from look to look, and the look that is being judged.
 */
#ifndef ALIQUOT_DAEMON_NODE_JUDGE_PARTS_H
#define ALIQUOT_DAEMON_NODE_JUDGE_PARTS_H

#include "daemon/node/node_parts.h"

#define CLAIMS_READINGS 5u

_Static_assert(SESSIONS_MOST <= IDENTITY_SESSIONS, "each is told to who reads processes");
_Static_assert(SESSIONS_MOST <= WATCH_SESSIONS && SESSIONS_GPUS <= WATCH_SHARES,
               "each session has a place on each GPU");

/* Where the slots of a session are: the kernel names what a process has mapped so. */
struct slots_place {
        struct identity_file file;
        int place; /* of the session */
};

/* A process of one look, on one GPU. */
struct holding {
        int place; /* of its session; negative: of none */
        uint64_t ledger_bytes;
};

/* The GPU time of one share; node_claims.c alone. */
struct seen_time {
        uint64_t shown_ns;    /* by the driver, since we came */
        uint64_t look_ns;     /* in this look */
        bool is_there;        /* a process is on the GPU, in this look */
        bool is_told;         /* that it is reported */
        uint64_t reported_ns; /* node_now_ns() since when it is */
        struct claim claim;
};

/* Resource errors of the daemon are not evidence against a session. */
bool judge_is_our_want(int rc);

/* What is kept about a session, by share. */
struct seen_session {
        uint8_t id[16];
        bool is_known;
        bool is_restored;    /* and not looked at yet: what it counted before is not ours to tell */
        unsigned whole;      /* the whole look that driver_bytes are of */
        uint64_t limited_ns; /* CLOCK_BOOTTIME when its limits were written; UINT64_MAX: not yet */
        uint64_t driver_bytes[SESSIONS_GPUS];
        struct page_ledger told[SESSIONS_GPUS]; /* whose counters are counted already */
        struct seen_time time[SESSIONS_GPUS];
};

/* What is known of the use of a GPU whose driver does not tell it by process. */
struct claims_gpu {
        bool is_said; /* that it does not, once */
        unsigned readings;
        int16_t percent[CLAIMS_READINGS]; /* of the whole GPU; the latest first; -1: not told */
};

struct judge {
        struct watch watch;
        bool is_crowded;   /* that it leaves some out was said */
        bool has_our_pids; /* the driver names processes by the pids that they have here */
        struct slots_place slots[SESSIONS_MOST]; /* in the order of their inodes */
        unsigned slots_count;
        unsigned slots_as_of;    /* folder_changes when they were read */
        unsigned whole;          /* whole looks so far; of the latest: */
        struct holding *holding; /* owned; by place in its sample */
        unsigned holding_count;
        uint64_t explained[SETTINGS_GPUS];        /* by device */
        uint64_t xids[SETTINGS_GPUS];             /* that were told of, by device */
        struct seen_session *seen[SESSIONS_MOST]; /* by place; made when first needed */
        unsigned tells;                           /* of the look that is being judged */
        unsigned held_from;                       /* the place where held_look() begins */

        /* node_claims.c alone. */
        uint64_t claims_ns; /* clock_now_ns() of the look before; 0: none */
        struct claims_gpu claims_gpu[SETTINGS_GPUS]; /* by device */
};

/* One look at the cards, while it is judged. */
struct look {
        struct node *node;
        const struct nvml_look *at;
        bool is_whole;
        struct watch_policy policy;
        struct holding *holding; /* as judge.holding, of this look */
        unsigned *order;         /* the holdings of sessions, by session */
        unsigned order_count;
};

/* node_told.c: counts what a session's ledgers have counted since they were read last. */
void told_add(struct node *node, struct seen_session *seen, const struct sessions_one *session,
              const struct page_ledger ledger[PAGE_DEVICES]);

/* node_judge.c: NULL: out of memory. */
struct seen_session *judge_seen(struct node *node, const struct sessions_one *session);

/* node_answer.c */
void answer_all(const struct look *look);
void answer_errors(const struct look *look);
/* What cannot be saved is done all the same, and stands in the log. */
void answer_tell(struct node *node, const char *type, const struct sessions_one *session,
                 const char *detail);
/* Whether one more may be told; false: enough was told in this look. */
bool answer_may_tell(const struct look *look);

/* node_held.c: what sessions whose limit was lowered still hold. After the look was published;
 * whole looks only. */
void held_look(struct node *node, const struct nvml_look *look);

/* node_claims.c: after all else was answered. Whole looks only. */
void claims_look(const struct look *look);

#endif
