/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node gives events to the core's session table (core/sessions.h) and carries out the actions
 * that the core returns.
 *
 *      node_open(&node, &options, &err)        opens database, folders and GPUs; restores sessions
 *      node_step(node, &event, who, &actions)  one event, such as a request
 *      node_close(node)                        does not end programs or remove folders
 *
 * Actions are carried out in the core's order: first the change in the database, then the changes
 * that programs can see. If an action fails, the remaining actions of the step are skipped, and the
 * core gets the event SESSIONS_FAILED. If a session could not be saved or created, nothing has
 * changed and the caller gets an error. If a change was saved, its remaining actions are repeated
 * later.
 *
 * All functions run in the thread of the event loop. Only the disk can block them.
 */
#ifndef ALIQUOT_DAEMON_NODE_NODE_H
#define ALIQUOT_DAEMON_NODE_NODE_H

#include <event2/event.h>

#include "core/claims.h"
#include "core/sessions.h"
#include "core/watch.h"
#include "daemon/database/database.h"
#include "daemon/node/folder.h"
#include "machine/cards.h"
#include "store/store.h"

struct node;

struct node_options {
        struct event_base *base;
        const struct store *store;
        struct database *database; /* borrowed for the node's life */
        const struct sessions_policy *policy;
        const struct policy *rules; /* the rules of the policy; `policy` and `rules` are copied */
        /* NVML's file name, as for dlopen(); borrowed for the node's life */
        const char *nvml;
        /* the daemon ends with its last session, and adopts no session of another daemon */
        bool is_temporary;
        /* NVML is the simulator, whose pids are valid in the daemon's PID namespace */
        bool is_simulated;
        /* The policies of the watch and of claims: borrowed for the node's life, and read at each
         * use. */
        const struct watch_policy *watch;
        const struct claims_policy *claims;
        const char *managed_cgroups; /* see identity_is_in() */
};

/* The cards, as the latest complete poll found them. */
struct node_cards {
        struct cards cards;
        char trouble[512]; /* why there are no GPUs; "" if there are */
};

int node_open(struct node **ret, const struct node_options *options, struct error *err);
void node_close(struct node *node);

/*
 * Gives the core one event, caused by `who` ("uid 1000", "token", "daemon"), and carries out the
 * actions. ret->answer is the core's answer. Negative: an action failed. If it could not be saved,
 * nothing has changed; if it was saved, it is repeated later.
 */
int node_step(struct node *node, const struct sessions_event *event, const char *who,
              struct sessions_actions *ret, struct error *err);

/* Fills in what the core would answer to this SESSIONS_CREATE now. Changes nothing and announces
 * nothing. */
void node_try(struct node *node, const struct sessions_event *event, struct sessions_actions *ret);

/* Restarts NVML and lists the cards again; waits up to half a second for the driver's answer. */
void node_look_again(struct node *node);

/* Return parts of the node, which are borrowed. The contents of the first are valid until the next
 * step. */
const struct sessions *node_sessions(const struct node *node);
const struct node_cards *node_cards(const struct node *node);
const struct store *node_store(const struct node *node);
struct database *node_database(struct node *node);

/* Sets the only function that is called with every event of the audit trail, once the event is
 * saved. */
typedef void node_listener(const struct database_event *event, void *context);
void node_listen(struct node *node, node_listener *listener, void *context);

/* Sets a function that is called after a session's folder was made or changed, and before it is
 * removed. The function must not call node_step(). There are at most NODE_WATCHERS;
 * node_leave_folders() removes those that were added with `context`. */
#define NODE_WATCHERS 2u
typedef void node_folder_watcher(const struct sessions_one *session, bool is_there, void *context);
void node_watch_folders(struct node *node, node_folder_watcher *watcher, void *context);
void node_leave_folders(struct node *node, void *context);

/* Sets the scheduler whose GPU time claims are compared with the driver's figures, and to which
 * wrong claims are reported; NULL: none. Borrowed until the next call. */
struct scheduler;
void node_use_scheduler(struct node *node, struct scheduler *scheduler);

/* Sets the swapper, which decides when sessions that swap have their memory on the GPU. NULL: none.
 * Borrowed until the next call. */
struct swapper;
/* If *kills_stuck, the programs of a session that has not released its memory in time get SIGKILL.
 * `kills_stuck` is borrowed until the next call, and read at each use. */
int node_use_swapper(struct node *node, struct swapper *swapper, const bool *kills_stuck);
/* Tells the swapper that a session's folder was made or changed (is_there), or is about to be
 * removed. Does nothing for a session that does not swap. `most`: as for swapper_put(). */
void node_swap(struct node *node, const struct sessions_one *session, bool is_there, unsigned most);

/* Notes that some process of this session may have ended. If the session is ending, the node soon
 * checks whether it is empty, once for many such calls. */
void node_look(struct node *node, const char *name);

/* Counters since the daemon's start. */
#define NODE_ANSWERS (SESSIONS_BAD + 1u)
struct node_counts {
        uint64_t admitted;
        uint64_t refused[NODE_ANSWERS]; /* refused creations, by enum sessions_answer */
        /* requests that the policy refused, including renewals and changes */
        uint64_t ruled[POLICY_KEYS];
        uint64_t ended;   /* sessions that were removed completely */
        uint64_t failed;  /* actions that could not be carried out */
        uint64_t signals; /* processes that got a signal */
        /* findings of processes on a GPU that belong to no session */
        uint64_t strangers;
        /* findings of processes and sessions that hold more than their ledger explains */
        uint64_t forged;
        uint64_t clamps;
        uint64_t nvml_failures;
        uint64_t slots_held; /* number of users who now block work on their `slots` files */
        /* Sums of what the programs of all sessions count in their ledgers, up to a second late. */
        uint64_t refused_charges, drained_charges, driver_refused_charges, reclaimed_bytes;
};
const struct node_counts *node_counts(const struct node *node);

/* Returns the number of steps so far: while it is unchanged, no session has changed. */
uint64_t node_steps(const struct node *node);

/* Returns the present time (CLOCK_REALTIME), which the core uses. */
uint64_t node_now_ns(void);

#endif
