/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon asked for its sessions, and its GPUs, by a thread of its own: one that does not answer
 * keeps nobody else waiting.
 *
 *      question = question_ask(&store);
 *      if (question && question_is_over(question, 100))
 *              ... question->rc, question->session ...
 *      question_drop(question);
 *
 * One at a time, and no other use of cli/client.h meanwhile, which works in one thread only.
 */
#ifndef ALIQUOT_CLI_TOP_QUESTION_H
#define ALIQUOT_CLI_TOP_QUESTION_H

#include <pthread.h>

#include "cli/client_devices.h"

struct question {
        /* The answer, once it is over. */
        int rc;                         /* as of client_list() */
        struct client_session *session; /* owned; in the order of their names. May be taken. */
        size_t count, room;
        bool wants_devices;    /* set by question_ask() */
        unsigned device_count; /* of its GPUs, where they are wanted */
        struct client_device device[SETTINGS_GPUS];
        uint64_t at_ns; /* when they were told; clock_now_ns() */
        /* The thread's own copy of the store. */
        struct store store;
        pthread_mutex_t lock;
        pthread_cond_t ended;
        bool is_over, is_dropped;
};

/* `wants_devices`: also its GPUs. NULL: there is no memory or no thread for it. */
struct question *question_ask(const struct store *store, bool wants_devices);

/* Whether the answer has arrived; waits for it for `wait_ms` at most. */
bool question_is_over(struct question *question, unsigned wait_ms);

/* The caller needs it no longer, but the thread may: the last of the two frees it. NULL is
 * allowed. */
void question_drop(struct question *question);

#endif
