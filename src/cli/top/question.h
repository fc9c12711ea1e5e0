/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request for the daemon's sessions and GPUs, made in a separate thread, so that a daemon that
 * does not answer delays nothing else.
 *
 *      question = question_ask(&store, false);
 *      if (question && question_is_over(question, 100))
 *              ... question->rc, question->session ...
 *      question_drop(question);
 *
 * There may be only one question at a time, and no other use of cli/client.h meanwhile, because
 * cli/client.h is for one thread only.
 */
#ifndef ALIQUOT_CLI_TOP_QUESTION_H
#define ALIQUOT_CLI_TOP_QUESTION_H

#include <pthread.h>

#include "cli/client_devices.h"

struct question {
        /* The answer; valid once question_is_over() is true. */
        int rc; /* return value of client_list() */
        /* owned; ordered by name. The caller may take it over and set it to NULL. */
        struct client_session *session;
        size_t count, room;
        bool wants_devices;    /* the GPUs are requested too; set by question_ask() */
        unsigned device_count; /* number of the daemon's GPUs, if they were requested */
        struct client_device device[SETTINGS_GPUS];
        uint64_t at_ns; /* time of the answer, by clock_now_ns() */
        /* The thread's own copy of the store, and its state. */
        struct store store;
        pthread_mutex_t lock;
        pthread_cond_t ended;
        bool is_over, is_dropped;
};

/* Starts a request; `wants_devices`: for the GPUs too. NULL: no memory or no thread. */
struct question *question_ask(const struct store *store, bool wants_devices);

/* Returns whether the answer has arrived; waits for it for `wait_ms` at most. */
bool question_is_over(struct question *question, unsigned wait_ms);

/* Drops the caller's use of the question. The thread may still use it; whichever is the last frees
 * it. NULL is allowed. */
void question_drop(struct question *question);

#endif
