/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What node_judge.c and node_answer.c share, and nobody else: what is remembered from look to look,
 * and the look that is being judged.
 */
#ifndef ALIQUOT_DAEMON_JUDGE_PARTS_H
#define ALIQUOT_DAEMON_JUDGE_PARTS_H

#include "daemon/node_parts.h"

/* Where the slots of a session are: the kernel names what a process has mapped so. */
struct slots_place {
        struct identity_file file;
        int place; /* of the session */
};

/* A process on one GPU. */
struct holding {
        int place; /* of its session; negative: of none */
        uint64_t ledger_bytes;
};

/* A session, by share. */
struct seen_session {
        uint8_t id[16];
        bool is_restored; /* and not looked at yet: what its limits were is not known */
        unsigned whole;   /* the whole look that driver_bytes are of */
        uint64_t ceiling[SESSIONS_GPUS]; /* watch_ceiling() */
        uint64_t driver_bytes[SESSIONS_GPUS];
        struct page_ledger told[SESSIONS_GPUS]; /* whose counters are counted already */
};

struct judge {
        struct watch watch;
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
};

/* One look being judged. */
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
              const struct folder_use *use);

/* node_judge.c: NULL: out of memory. */
struct seen_session *judge_seen(struct node *node, const struct sessions_one *session);

/* node_answer.c */
void answer_all(const struct look *look);
void answer_errors(const struct look *look);

#endif
