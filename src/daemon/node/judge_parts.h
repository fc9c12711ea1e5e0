/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by node_judge.c, node_answer.c, node_claims.c, node_held.c and node_told.c only: what is
 * kept from poll to poll, and the poll that is being judged.
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
        int place; /* of the session */
};

/* A process of one poll, on one GPU. */
struct holding {
        int place; /* of its session; negative: it has none */
        uint64_t ledger_bytes;
};

/* The GPU time of one share; used by node_claims.c only. */
struct seen_time {
        uint64_t shown_ns;    /* by the driver, since we came */
        uint64_t look_ns;     /* in this look */
        bool is_there;        /* a process is on the GPU, in this look */
        bool is_told;         /* the report was announced */
        uint64_t reported_ns; /* since when it is reported, by node_now_ns() */
        struct claim claim;
};

/* Resource errors of the daemon are not evidence against a session. */
bool judge_is_our_want(int rc);

/* What is kept about a session, by share. */
struct seen_session {
        uint8_t id[16];
        bool is_known;
        bool is_restored; /* restored and not polled yet: older counts must not be announced */
        unsigned whole;   /* the whole look that driver_bytes are of */
        /* CLOCK_BOOTTIME when its limits were last written; UINT64_MAX: not yet */
        uint64_t limited_ns;
        uint64_t driver_bytes[SESSIONS_GPUS];
        struct page_ledger told[SESSIONS_GPUS]; /* counters already counted */
        struct seen_time time[SESSIONS_GPUS];
};

/* For a GPU whose driver does not report usage by process. */
struct claims_gpu {
        bool is_said; /* that it does not, once */
        unsigned readings;
        int16_t percent[CLAIMS_READINGS]; /* of the whole GPU; the latest first; -1: not told */
};

struct judge {
        struct watch watch;
        bool is_crowded;                        /* it was logged that some processes are left out */
        bool has_our_pids;                      /* the driver's pids are the pids here */
        struct slots_place slots[SESSIONS_MAX]; /* in the order of their inodes */
        unsigned slots_count;
        unsigned slots_as_of;    /* value of folder_changes when they were read */
        unsigned whole;          /* whole looks so far; of the latest: */
        struct holding *holding; /* owned; by index in its sample */
        unsigned holding_count;
        uint64_t explained[SETTINGS_GPUS];       /* by device */
        uint64_t xids[SETTINGS_GPUS];            /* that were told of, by device */
        struct seen_session *seen[SESSIONS_MAX]; /* by place; made when first needed */
        unsigned tells;                          /* of the look that is being judged */
        unsigned held_from;                      /* the place where held_look() begins */

        /* node_claims.c alone. */
        uint64_t claims_ns;                          /* clock_now_ns() of the last poll; 0: none */
        struct claims_gpu claims_gpu[SETTINGS_GPUS]; /* by device */
};

/* One poll of the cards, while it is judged. */
struct look {
        struct node *node;
        const struct nvml_look *at;
        bool is_whole;
        struct watch_policy policy;
        struct holding *holding; /* as judge.holding, of this look */
        unsigned *order;         /* the holdings of sessions, by session */
        unsigned order_count;
};

/* node_told.c: adds what a session's ledgers counted since the last reading. */
void told_add(struct node *node, struct seen_session *seen, const struct sessions_one *session,
              const struct page_ledger ledger[PAGE_DEVICES]);

/* node_judge.c: NULL: out of memory. */
struct seen_session *judge_seen(struct node *node, const struct sessions_one *session);

/* node_answer.c */
void answer_all(const struct look *look);
void answer_errors(const struct look *look);
/* Announces a finding. If it cannot be saved, it is carried out anyway and logged. */
void answer_tell(struct node *node, const char *type, const struct sessions_one *session,
                 const char *detail);
/* Whether one more finding may be announced in this poll. */
bool answer_may_tell(const struct look *look);

/* node_held.c: finds how much sessions with a lowered limit still hold. Runs after a complete poll
 * was published. */
void held_look(struct node *node, const struct nvml_look *look);

/* node_claims.c: after all else was answered. Whole looks only. */
void claims_look(const struct look *look);

#endif
