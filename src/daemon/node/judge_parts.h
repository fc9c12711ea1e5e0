/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface of node_judge.c, node_answer.c, node_claims.c, node_held.c, node_failed.c
 * and node_told.c: the state that is kept from poll to poll, and the poll that is being judged.
 */
#ifndef ALIQUOT_DAEMON_NODE_JUDGE_PARTS_H
#define ALIQUOT_DAEMON_NODE_JUDGE_PARTS_H

#include "daemon/node/node_parts.h"

#define CLAIMS_READINGS 5u

_Static_assert(SESSIONS_MAX <= IDENTITY_SESSIONS, "each is told to who reads processes");
_Static_assert(SESSIONS_MAX <= WATCH_SESSIONS && SESSIONS_GPUS <= WATCH_SHARES,
               "each session has a place on each GPU");

/* The `slots` file of a session, as the kernel names it in a process's mappings. */
struct slots_place {
        struct identity_file file;
        int place; /* index of the session */
};

/* A process that one poll found on one GPU. */
struct holding {
        int place; /* index of the process's session; negative: it has none */
        uint64_t ledger_bytes;
};

/* The GPU time that one session used of one of its GPUs. Only node_claims.c uses it. */
struct seen_time {
        uint64_t shown_ns;    /* GPU time by the driver since the daemon's start */
        uint64_t look_ns;     /* GPU time by the driver in the present poll */
        bool is_there;        /* the present poll found a process of the session on the GPU */
        bool is_told;         /* the present report was announced */
        uint64_t reported_ns; /* node_now_ns() when the present report began */
        struct claim claim;
};

/* Whether the error is a lack of descriptors or memory in the daemon, which is no evidence against
 * a session. */
bool judge_is_our_want(int rc);

/* What is kept about a session; arrays are indexed by the session's share. */
struct seen_session {
        uint8_t id[16];
        bool is_known;
        /* restored and not polled yet: counts from before the daemon's start must not be added
         * up */
        bool is_restored;
        unsigned whole; /* number of the complete poll from which driver_bytes is */
        /* CLOCK_BOOTTIME when the session's limits were last written; UINT64_MAX: not yet */
        uint64_t limited_ns;
        uint64_t driver_bytes[SESSIONS_GPUS];
        /* counters of the ledger that are already added to node_counts */
        struct page_ledger told[SESSIONS_GPUS];
        struct seen_time time[SESSIONS_GPUS];
};

/* The utilisation of a whole GPU, for a GPU whose driver does not report usage by process. */
struct claims_gpu {
        bool is_said; /* it was logged that the driver does not report usage by process */
        unsigned readings;
        /* utilisation in the last polls, the latest first; -1: unknown */
        int16_t percent[CLAIMS_READINGS];
};

struct judge {
        struct watch watch;
        /* it was logged that there is no room for some processes */
        bool is_crowded;
        /* pids that the driver reports are valid in the daemon's PID namespace */
        bool has_our_pids;
        struct slots_place slots[SESSIONS_MAX]; /* sorted by device and inode */
        unsigned slots_count;
        unsigned slots_as_of; /* value of node.folder_changes when `slots` was read */
        unsigned whole;       /* number of complete polls so far */
        /* processes of the latest complete poll, by index in its sample; owned */
        struct holding *holding;
        unsigned holding_count;
        /* bytes that ledgers explain in the latest complete poll, by device */
        uint64_t explained[SETTINGS_GPUS];
        /* number of Xid errors announced so far, by device */
        uint64_t xids[SETTINGS_GPUS];
        struct seen_session *seen[SESSIONS_MAX]; /* by session index; allocated when first needed */
        /* findings announced in the poll that is being judged */
        unsigned tells;
        /* index of the session at which held_look() begins */
        unsigned held_from;

        /* The fields below are used by node_claims.c only. */
        /* clock_now_ns() of the last complete poll; 0: none yet */
        uint64_t claims_ns;
        struct claims_gpu claims_gpu[SETTINGS_GPUS]; /* by index of the GPU in the sample */
};

/* A poll of the cards while it is judged. */
struct look {
        struct node *node;
        const struct nvml_look *at;
        bool is_whole;
        struct watch_policy policy;
        /* processes of this poll, by index in its sample; owned until publish_look() */
        struct holding *holding;
        /* indices in `holding` of the processes that have a session, sorted by session */
        unsigned *order;
        unsigned order_count;
};

/* node_told.c: adds to node_counts what the session's ledger counted since the last call. */
void told_add(struct node *node, struct seen_session *seen, const struct sessions_one *session,
              const struct page_ledger ledger[PAGE_DEVICES]);

/* node_judge.c: returns what is kept about the session, and allocates it at the first call. NULL:
 * out of memory. */
struct seen_session *judge_seen(struct node *node, const struct sessions_one *session);

/* node_answer.c: carries out what the watch decided, and announces new Xid errors. */
void answer_all(const struct look *look);
void answer_errors(const struct look *look);
/* Saves a finding in the audit trail and announces it. An error is only logged, so that the caller
 * can act on the finding anyway. */
void answer_tell(struct node *node, const char *type, const struct sessions_one *session,
                 const char *detail);
/* Whether one more finding may be announced in this poll; counts it. */
bool answer_may_tell(const struct look *look);

/* node_held.c: finds how much memory sessions with a lowered limit still hold. Runs after a
 * complete poll was published. */
void held_look(struct node *node, const struct nvml_look *look);

/* node_claims.c: compares claimed GPU time with the driver's figures. Called for complete polls
 * only, after answer_all(). */
void claims_look(const struct look *look);

#endif
