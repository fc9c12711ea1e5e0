/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the node; no other file includes it.
 *
 *   node.c         carries out the actions of a step
 *   node_open.c    opens and closes the node
 *   node_adopt.c   compares saved sessions with folders at the start
 *   node_watch.c   has the timers: due steps, ending sessions, the database's files
 *   node_cards.c   asks the driver for the cards and the processes on them
 *   node_judge.c   finds the session of each process
 *   node_answer.c  carries out what the watch decides about processes
 *   node_claims.c  compares claimed GPU time with the driver's figures
 *   node_held.c    finds how much memory sessions with a lowered limit still hold
 *   node_failed.c  reports actions that failed
 *   node_ruled.c   reports what the policy refused
 *   node_swap.c    connects the node to the swapper
 *   node_told.c    adds up what ledgers count
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
        /* by session index: code of the last reported failure; 0: none since an action succeeded */
        int told_failure[SESSIONS_MAX];
        /* by session index: how often the session was sent SIGKILL */
        unsigned kills[SESSIONS_MAX];
        /* by session index: only a lock keeps the session alive, as of the last complete poll, so
         * that it may be removed */
        bool may_go[SESSIONS_MAX];
        /* by session index: clock_machine_ns() when the session was first seen ending and without a
         * lock; 0: not yet */
        uint64_t left_ns[SESSIONS_MAX];
        bool must_look[SESSIONS_MAX]; /* by session index: node_look() was called for it */
        /* by session index: how often trim.h found its `slots` too large */
        unsigned oversized[SESSIONS_MAX];
        struct owner_log events;  /* limits log lines about what sessions were asked for */
        struct owner_log trouble; /* limits log lines about errors with sessions */
        /* limits events about what the policy refused, by requester */
        struct accounts ruled;
        uint64_t steps;
        node_listener *listener;
        void *listener_context;
        struct {
                node_folder_watcher *watcher; /* NULL: this entry is free */
                void *context;
        } folders[NODE_WATCHERS];

        struct node_cards cards;
        const struct watch_policy *watch;
        const struct claims_policy *claims;
        struct scheduler *scheduler; /* NULL: none */
        struct swapper *swapper;     /* NULL: none */
        const bool *kills_stuck;     /* borrowed; read only if there is a swapper */
        struct event *stuck;         /* runs when the swapper reports a session that is stuck */
        const char *managed_cgroups;
        struct nvml_thread *nvml;
        struct event *asking;   /* timer of the next question to the driver */
        bool must_restart_nvml; /* the next question to the driver restarts NVML */
        bool is_nvml_silent;    /* it was logged that the driver does not answer */
        /* clock_now_ns() of the last question for a complete poll; 0: none yet */
        uint64_t whole_ns;
        uint64_t heard_ns; /* CLOCK_MONOTONIC of the last complete poll's answer */
        struct judge *judge;
        unsigned folder_changes; /* number of times that a folder was made or changed */

        int clock;             /* timerfd on CLOCK_REALTIME, for the core's next due step */
        struct event *due;     /* runs when `clock` expires */
        struct event *looking; /* timer: checks sessions that end */
        struct event *soon;    /* timer: checks the sessions that node_look() named */
        struct event *rounds;  /* timer: removes leftover folders, every 30 s */
        /* timer: checks the database's files and the sizes of `slots`, every second */
        struct event *placing;
        struct hunts *hunts;
        struct event *hunting; /* timer: runs while hunts_are_on() */
        struct cleanups *cleanups;
        struct event *cleaning; /* timer: runs while cleanups_are_on() */
        /* clock_machine_ns() when trim_now() last began to wait for cleanups */
        uint64_t waited_ns;
        struct remains *remains;
        bool has_leftovers; /* some folder belongs to no session, and a process lives in it */
        /* index of the session at which the next check of ending sessions begins */
        unsigned look_from;
        uint64_t turn_ns; /* node_now_ns() when the present node_tick() began; 0: none runs */
};

/* How long the loop handles due or ending sessions before other events are served. After this time
 * no further session is begun. */
#define NODE_TURN_NS UINT64_C(10000000)

/* node.c: actions and steps. */
/* Handles some of the due sessions, each at most once. */
void node_tick(struct node *node);
/* Handles everything that is due. Called at the start, before requests are served. */
void node_tick_all(struct node *node);
/* Logs a saved event and passes it to the listener. `payer`: who caused it (sessions_payer()); 0:
 * root or nobody. */
void node_announce(struct node *node, uint64_t payer, const struct database_event *event);

/* Appends the session as a JSON object, for the audit trail. */
void node_describe(const struct sessions_one *session, struct text *text);

/* node_failed.c: reports an action that failed. `is_saved`: the session's change was saved. */
void failed_tell(struct node *node, const struct sessions_one *session, bool is_saved,
                 const struct error *err);
void failed_forget(struct node *node, const struct sessions_one *session);
/* Notes that SIGKILL was sent to the session once more. */
void failed_kill(struct node *node, const struct sessions_one *session);
/* After a complete poll was judged, finds the sessions that only a lock keeps alive, and which may
 * therefore be removed. */
void failed_look(struct node *node, const struct nvml_look *look);
/* Whether an ending session may be removed. True if no process lives in it and none holds its
 * promised memory, or if only processes live in it that cannot be ended. */
bool failed_is_over(struct node *node, const struct sessions_one *session);

/* Writes a session's limits, or that it is clamped, to its folder. */
int node_limit(struct node *node, const struct sessions_one *session, struct error *err);
void node_note_empty(struct node *node, const char *name);
/* Tells the core how much memory a session holds: memory_bytes of each share of `held`. */
void node_note_held(struct node *node, const struct sessions_one *held);
/* Removes an ending session if failed_is_over(). */
void node_look_after(struct node *node, const struct sessions_one *session);

/* node_watch.c: timers. */
int node_watch_start(struct node *node, struct error *err);
void node_watch_stop(struct node *node);
void node_arm(struct node *node);
/* Sends the signal to all processes of the session, after the caller returns to the event loop. */
void node_hunt(struct node *node, const struct sessions_one *session,
               const struct folder_signal *signal);

/* node_cards.c: questions to the driver. */
int node_cards_start(struct node *node, const struct node_options *options, struct error *err);
void node_cards_stop(struct node *node);

/* node_judge.c: judges a finished poll. */
struct judge *judge_new(bool is_simulated);
void judge_free(struct judge *judge);
void judge_look(struct node *node, const struct nvml_look *look);
void judge_limits(struct node *node, const struct sessions_one *session, bool is_new);
/* Notes that the session's limits were written now. */
void judge_limited(struct node *node, const struct sessions_one *session);

/* node_told.c: reads the session's counters a last time, before its folder is removed. */
void told_farewell(struct node *node, const struct sessions_one *session);

bool judge_is_close(const struct judge *judge);
/* Fills in the pids whose identity must be read again, and the present sessions. */
void judge_ask(struct node *node, struct nvml_ask *ask);

/* node_ruled.c: reports a request for more than a rule of the policy allows. */
void ruled_tell(struct node *node, const struct sessions_event *asked, const char *who,
                const struct sessions_excess *excess);

/* node_swap.c: tells the swapper how much of each GPU is left for sessions that swap. Called after
 * each step, because a step may change what is promised. */
void swap_note_promises(struct node *node);

/* node_open.c: closes the folders in the runtime folder that belong to no known session, and
 * removes those that no running process has joined. */
void node_sweep(struct node *node);

#endif
