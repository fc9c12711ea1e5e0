/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the node share, and nobody else.
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
        int told_failure[SESSIONS_MOST]; /* by place: the code last said; 0: none since it went well
                                          */
        unsigned kills[SESSIONS_MOST];   /* by place: how often it was sent SIGKILL */
        bool may_go[SESSIONS_MOST];      /* by place: as of the last whole look, for its lock alone
                                          */
        uint64_t left_ns[SESSIONS_MOST]; /* by place: clock_machine_ns() when it was seen to end and
                                            without a lock; 0: not yet */
        bool must_look[SESSIONS_MOST];   /* by place: node_look() was asked for */
        unsigned oversized[SESSIONS_MOST]; /* by place: how often trim.h found it so */
        struct owner_log events;           /* lines of the log about what sessions were asked for */
        struct owner_log trouble;          /* and what went wrong with them */
        struct accounts ruled;             /* events of what the policy refused, by who asked */
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
        struct scheduler *scheduler; /* NULL: none */
        struct swapper *swapper;     /* likewise */
        const bool *kills_stuck;     /* likewise */
        struct event *stuck;         /* of a session that swaps */
        const char *managed_cgroups;
        struct nvml_thread *nvml;
        struct event *asking;   /* when the driver is asked next */
        bool must_restart_nvml; /* at the next question */
        bool is_nvml_silent;    /* and that has been said */
        uint64_t whole_ns; /* clock_now_ns(): when it was asked for everything, last; 0: not yet */
        uint64_t heard_ns; /* CLOCK_MONOTONIC: when it answered that, last */
        struct judge *judge;
        unsigned folder_changes; /* rises when a folder is made or changed */

        int clock;             /* timerfd of the wall clock */
        struct event *due;     /* on the clock */
        struct event *looking; /* at sessions that end */
        struct event *soon;    /* at those that node_look() was asked for */
        struct event *rounds;  /* at everything else, slowly */
        struct event *placing; /* at whether the database is in its place */
        struct hunts *hunts;
        struct event *hunting; /* while they are on */
        struct cleanups *cleanups;
        struct event *cleaning; /* likewise */
        uint64_t waited_ns;     /* clock_machine_ns() when the loop last began to wait for them */
        struct remains *remains;
        bool has_leftovers; /* folders that no session has, with somebody in them */
        unsigned look_from; /* the place where the next look begins */
        uint64_t turn_ns;   /* node_now_ns() at which the turn of the clock began; 0: none runs */
};

/* How long the loop is about sessions that are due, or that end, before others come: after so long
 * no further one is begun. */
#define NODE_TURN_NS UINT64_C(10000000)

/* node.c */
/* Does some of what is due, for each session once at most. */
void node_tick(struct node *node);
/* Does all that is due, before anybody is served. */
void node_tick_all(struct node *node);
/* `uid`: who caused it; 0: nobody who shares the node. */
void node_announce(struct node *node, uint32_t uid, const struct database_event *event);

/* Describes the session as a JSON object, for the audit trail. */
void node_describe(const struct sessions_one *session, struct text *text);

/* node_failed.c: what is saved and could not be done, so that nobody takes it for done. */
void failed_tell(struct node *node, const struct sessions_one *session, bool is_saved,
                 const struct error *err);
void failed_forget(struct node *node, const struct sessions_one *session);
/* Notes that SIGKILL was sent to the session once more. */
void failed_kill(struct node *node, const struct sessions_one *session);
/* After a whole look was judged: sessions of which nothing is left but a lock may go. */
void failed_look(struct node *node, const struct nvml_look *look);
/* Whether this one, which ends, may go: nobody lives in it, or nobody who can be ended, and nobody
 * holds what it was promised. */
bool failed_is_over(struct node *node, const struct sessions_one *session);

/* Writes a session's limits, or that it is clamped. */
int node_limit(struct node *node, const struct sessions_one *session, struct error *err);
void node_note_empty(struct node *node, const char *name);
/* Of its shares, memory_bytes are held. */
void node_note_held(struct node *node, const struct sessions_one *held);
/* One that ends: it goes if it is over. */
void node_look_after(struct node *node, const struct sessions_one *session);

/* node_watch.c */
int node_watch_start(struct node *node, struct error *err);
void node_watch_stop(struct node *node);
void node_arm(struct node *node);
/* Sends it to all processes of the session, soon. */
void node_hunt(struct node *node, const struct sessions_one *session,
               const struct folder_signal *signal);

/* node_cards.c */
int node_cards_start(struct node *node, const struct node_options *options, struct error *err);
void node_cards_stop(struct node *node);

/* node_judge.c: a look that has been taken, and what a session is allowed from now on. */
struct judge *judge_new(bool is_simulated);
void judge_free(struct judge *judge);
void judge_look(struct node *node, const struct nvml_look *look);
void judge_limits(struct node *node, const struct sessions_one *session, bool is_new);
/* And they are written. */
void judge_limited(struct node *node, const struct sessions_one *session);

/* node_told.c: the last look at the counters of a session whose folder goes. */
void told_farewell(struct node *node, const struct sessions_one *session);

bool judge_is_close(const struct judge *judge);
/* Whose identity is to be read again, and the sessions that there are. */
void judge_ask(struct node *node, struct nvml_ask *ask);

/* node_ruled.c: who asked for more than a rule of the policy gives. */
void ruled_tell(struct node *node, const struct sessions_event *asked, const char *who,
                const struct sessions_excess *excess);

/* node_swap.c: after a step, what is promised may be another sum. */
void swap_note_promises(struct node *node);

/* node_open.c: a folder of ours that no session has any more goes when nobody lives in it. */
void node_sweep(struct node *node);

#endif
