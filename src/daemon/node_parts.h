/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the node share, and nobody else.
 *
 * node.c carries steps out; node_open.c begins and ends, and reconciles folders with what was
 * saved; node_watch.c has the timers: what is due, who lives, which cards there are.
 */
#ifndef ALIQUOT_DAEMON_NODE_PARTS_H
#define ALIQUOT_DAEMON_NODE_PARTS_H

#include "daemon/node.h"

#define NODE_SECOND_NS UINT64_C(1000000000)

struct node {
        struct event_base *base;
        struct store store;
        struct database *database;
        struct sessions *sessions;
        struct node_counts counts;
        node_listener *listener;
        void *listener_context;
        node_folder_watcher *folder_watcher;
        void *folder_context;

        struct node_cards cards;
        const char *nvml;
        void *nvml_handle;
        bool is_nvml_started;
        uint64_t looked_ns; /* at the cards, last */

        int clock;             /* timerfd of the wall clock */
        struct event *due;     /* on the clock */
        struct event *looking; /* at sessions that end */
        struct event *rounds;  /* at everything else, slowly */
        bool has_leftovers;    /* folders that no session has, with somebody in them */
        unsigned look_from;    /* the place where the next look begins */
};

/* node.c */
void node_tick(struct node *node);
void node_note_empty(struct node *node, const char *name);

/* node_watch.c */
int node_watch_start(struct node *node, struct error *err);
void node_watch_stop(struct node *node);
void node_arm(struct node *node);
void node_look_at_cards(struct node *node);

/* node_open.c: a folder of ours that no session has any more goes when nobody lives in it. */
void node_sweep(struct node *node);

#endif
