/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the node; no other file includes it.
 *
 * node.c carries steps out; node_open.c begins and ends, and reconciles folders with what was
 * saved; node_watch.c has the timers: what is due, who lives; node_cards.c asks the driver which
 * cards there are and who is on them, node_judge.c whose they are, node_answer.c does what comes of
 * that, node_claims.c the same of GPU time, node_held.c tells what is held of lowered limits,
 * and node_ruled.c what the policy refused.
 */
#ifndef ALIQUOT_DAEMON_NODE_NODE_PARTS_H
#define ALIQUOT_DAEMON_NODE_NODE_PARTS_H

#include "common/text.h"
#include "daemon/base/owner_log.h"
#include "daemon/node/folder.h"
#include "daemon/node/hunt.h"
#include "daemon/node/node_gpus.h"
#include "daemon/node/remains.h"

#define NODE_SECOND_NS UINT64_C(1000000000)

struct node {
        struct event_base *base;
        struct store store;
        struct database *database;
        bool is_temporary;
        struct sessions *sessions;
        struct node_counts counts;
        int told_failure[SESSIONS_MAX]; /* by place: the code last said; 0: none since it went well
                                         */
        unsigned kills[SESSIONS_MAX];   /* by place: how often it was sent SIGKILL */
        bool may_go[SESSIONS_MAX];      /* by place: as of the last whole look, for its lock alone
                                         */
        uint64_t left_ns[SESSIONS_MAX]; /* by place: clock_machine_ns() when it was seen to end and
                                            without a lock; 0: not yet */
        bool must_look[SESSIONS_MAX];   /* by place: node_look() was asked for */
        unsigned oversized[SESSIONS_MAX]; /* by place: how often trim.h found it so */
        struct owner_log events;          /* lines of the log about what sessions were asked for */
        struct owner_log trouble;         /* and what went wrong with them */
        struct accounts ruled;            /* events of what the policy refused, by who asked */
        uint64_t steps;
        node_listener *listener;
        void *listener_context;
        struct {
                node_folder_watcher *watcher; /* NULL: the place is free */
                void *context;
        } folders[NODE_WATCHERS];

        struct node_cards cards;
        const struct watch_policy *watch;
        const struct claims_policy *claims;
        struct scheduler *scheduler; /* NULL: there is none */
        struct swapper *swapper;     /* likewise */
        const bool *kills_stuck;     /* likewise */
        struct event *stuck;         /* of a session that swaps */
        const char *managed_cgroups;
        struct nvml_thread *nvml;
        struct event *asking;   /* when the driver is asked next */
        bool must_restart_nvml; /* at the next question */
        bool is_nvml_silent;    /* and that has been said */
        uint64_t whole_ns;      /* clock_now_ns() of the last complete question; 0: none yet */
        uint64_t heard_ns;      /* CLOCK_MONOTONIC of the last answer to one */
        struct judge *judge;
        unsigned folder_changes; /* rises when a folder is made or changed */

        int clock;             /* timerfd of the wall clock */
        struct event *due;     /* on the clock */
        struct event *looking; /* at sessions that end */
        struct event *soon;    /* looks at the sessions that node_look() named */
        struct event *rounds;  /* at everything else, slowly */
        struct event *placing; /* checks whether the database is in its place */
        struct hunts *hunts;
        struct event *hunting; /* runs while hunts are on */
        struct cleanups *cleanups;
        struct event *cleaning; /* likewise */
        uint64_t waited_ns;     /* clock_machine_ns() when the loop last began to wait for them */
        struct remains *remains;
        bool has_leftovers; /* folders that no session has, with somebody in them */
        unsigned look_from; /* the place where the next look begins */
        uint64_t turn_ns;   /* node_now_ns() at which the turn of the clock began; 0: none runs */
};

/* How long the loop handles due or ending sessions before other events: after this time it begins
 * no further one. */
#define NODE_TURN_NS UINT64_C(10000000)

/* node.c */
/* Handles some of the due sessions, each once at most. */
void node_tick(struct node *node);
/* Does all that is due, before anybody is served. */
void node_tick_all(struct node *node);
/* `uid`: the user who caused it; 0: no user of the node. */
void node_announce(struct node *node, uint32_t uid, const struct database_event *event);

/* Describes the session as a JSON object, for the audit trail. */
void node_describe(const struct sessions_one *session, struct text *text);

/* node_failed.c: reports a saved action that could not be carried out. */
void failed_tell(struct node *node, const struct sessions_one *session, bool is_saved,
                 const struct error *err);
void failed_forget(struct node *node, const struct sessions_one *session);
/* Notes that SIGKILL was sent to the session once more. */
void failed_kill(struct node *node, const struct sessions_one *session);
/* After a whole look was judged: sessions of which nothing is left but a lock may go. */
void failed_look(struct node *node, const struct nvml_look *look);
/* Whether an ending session may be removed: no process lives in it, or none that can be ended, and
 * none holds its promised memory. */
bool failed_is_over(struct node *node, const struct sessions_one *session);

/* Writes a session's limits, or that it is clamped. */
int node_limit(struct node *node, const struct sessions_one *session, struct error *err);
void node_note_empty(struct node *node, const char *name);
/* The memory_bytes of its shares are what is held. */
void node_note_held(struct node *node, const struct sessions_one *held);
/* Removes an ending session if it is over. */
void node_look_after(struct node *node, const struct sessions_one *session);

/* node_watch.c */
int node_watch_start(struct node *node, struct error *err);
void node_watch_stop(struct node *node);
void node_arm(struct node *node);
/* Sends the signal to all processes of the session, soon. */
void node_hunt(struct node *node, const struct sessions_one *session,
               const struct folder_signal *signal);

/* node_cards.c */
int node_cards_start(struct node *node, const struct node_options *options, struct error *err);
void node_cards_stop(struct node *node);

/* node_judge.c: judges a finished poll. */
struct judge *judge_new(bool is_simulated);
void judge_free(struct judge *judge);
void judge_look(struct node *node, const struct nvml_look *look);
void judge_limits(struct node *node, const struct sessions_one *session, bool is_new);
/* Notes that the session's limits were written. */
void judge_limited(struct node *node, const struct sessions_one *session);

/* node_told.c: reads the counters a last time before the session's folder is removed. */
void told_farewell(struct node *node, const struct sessions_one *session);

bool judge_is_close(const struct judge *judge);
/* Fills in which identities must be read again, and the present sessions. */
void judge_ask(struct node *node, struct nvml_ask *ask);

/* node_ruled.c: who asked for more than a rule of the policy gives. */
void ruled_tell(struct node *node, const struct sessions_event *asked, const char *who,
                const struct sessions_excess *excess);

/* node_swap.c: after a step, what is promised may be another sum. */
void swap_note_promises(struct node *node);

/* node_open.c: removes a folder of ours that has no session any more, when no process lives in
 * it. */
void node_sweep(struct node *node);

#endif
