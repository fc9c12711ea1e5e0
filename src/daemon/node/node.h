/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node: steps the core's sessions and carries their actions out.
 *
 *      node_open(&node, &options, &err)        opens database, folders and GPUs; restores sessions
 *      node_step(node, &event, who, &actions)  one event, such as a request
 *      node_close(node)                        programs and folders stay as they are
 *
 * Actions are carried out in the core's order: the database first, then the visible ones. If an
 * action fails, the rest of its step is skipped and the core is told. If the session could not be
 * saved or made, nothing has happened, and the answer is an error. If it was saved, the remaining
 * actions are repeated later.
 *
 * One thread: all of it runs in the event loop. Only the disk can block it.
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
        const struct policy *rules; /* who may take what; both are copied */
        const char *nvml;           /* the library, as for dlopen(); borrowed for the node's life */
        bool is_temporary;          /* it ends with the last session, and has its own alone */
        bool is_simulated; /* the library names processes by our pids, in any PID namespace */
        /* The policy of the watch, borrowed likewise, and read at each use. */
        const struct watch_policy *watch;
        const struct claims_policy *claims;
        const char *managed_cgroups; /* see identity_is_in() */
};

/* The latest look at the cards. */
struct node_cards {
        struct cards cards;
        char trouble[512]; /* why there are no GPUs; "" if there are */
};

int node_open(struct node **ret, const struct node_options *options, struct error *err);
void node_close(struct node *node);

/*
 * One event, caused by `who` ("uid 1000", "token", "daemon"). ret->answer is the core's; negative:
 * the event could not be carried out and nothing has changed.
 */
int node_step(struct node *node, const struct sessions_event *event, const char *who,
              struct sessions_actions *ret, struct error *err);

/* What the policy would answer to this SESSIONS_CREATE now; nothing changes, and nobody is told. */
void node_try(struct node *node, const struct sessions_event *event, struct sessions_actions *ret);

/* Looks for the cards again, from the beginning; waits a moment for the driver's answer. */
void node_look_again(struct node *node);

/* The node's sessions: borrowed, valid until the next step. */
const struct sessions *node_sessions(const struct node *node);
const struct node_cards *node_cards(const struct node *node);
const struct store *node_store(const struct node *node);
struct database *node_database(struct node *node);

/* Sets the function that is called for every event of the audit trail, once it is saved. One
 * listener. */
typedef void node_listener(const struct database_event *event, void *context);
void node_listen(struct node *node, node_listener *listener, void *context);

/* Sets a function that is called after a session's folder was made or changed, and before it is
 * removed. It must take no step. At most NODE_WATCHERS; each is removed with the context it was
 * added with. */
#define NODE_WATCHERS 2u
typedef void node_folder_watcher(const struct sessions_one *session, bool is_there, void *context);
void node_watch_folders(struct node *node, node_folder_watcher *watcher, void *context);
void node_leave_folders(struct node *node, void *context);

/* Sets the scheduler whose GPU time claims are compared with the driver's figures, and to which
 * wrong claims are reported; NULL: none. Borrowed until the next call. */
struct scheduler;
void node_use_scheduler(struct node *node, struct scheduler *scheduler);

/* Sets the swapper, which gives sessions that swap their turns; NULL: none. Borrowed until the next
 * call. */
struct swapper;
/* `kills_stuck` is read at each use: the programs of a session that is overdue get SIGKILL. */
int node_use_swapper(struct node *node, struct swapper *swapper, const bool *kills_stuck);
/* A session's folder was made or changed, or is about to go; `most`: as swapper_put(). One that
 * does not swap is passed over. */
void node_swap(struct node *node, const struct sessions_one *session, bool is_there, unsigned most);

/* Some process of this session may have ended: an ending session is looked at soon, once for many
 * processes. */
void node_look(struct node *node, const char *name);

/* Answers and losses since the start. */
#define NODE_ANSWERS (SESSIONS_BAD + 1u)
struct node_counts {
        uint64_t admitted;
        uint64_t refused[NODE_ANSWERS]; /* of creations, by enum sessions_answer */
        uint64_t ruled[POLICY_KEYS];    /* what the policy refused, renewals and changes too */
        uint64_t ended;                 /* sessions of which nothing is left */
        uint64_t failed;                /* actions that could not be carried out */
        uint64_t signals;               /* sent to processes */
        uint64_t strangers;             /* processes of no session that were seen on a GPU */
        uint64_t forged;                /* processes and sessions that no ledger explained */
        uint64_t clamps;
        uint64_t nvml_failures;
        uint64_t slots_held; /* users who block work on their `slots` files now */
        /* As the programs of all sessions count in their ledgers, up to a second late. */
        uint64_t refused_charges, drained_charges, driver_refused_charges, reclaimed_bytes;
};
const struct node_counts *node_counts(const struct node *node);

/* Rises with every step: while it is the same, no session has changed. */
uint64_t node_steps(const struct node *node);

/* The present time, as the core counts it. */
uint64_t node_now_ns(void);

#endif
