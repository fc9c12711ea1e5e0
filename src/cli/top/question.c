/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/question.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"

#define PATIENCE_MS 5000
#define NS_A_MS 1000000

static void free_question(struct question *question)
{
        pthread_cond_destroy(&question->ended);
        pthread_mutex_destroy(&question->lock);
        free(question->session);
        free(question);
}

static int add_session(const struct client_session *session, void *context)
{
        struct question *question = context;

        if (question->count == question->room) {
                size_t room = question->room ? 2 * question->room : 16;
                void *grown = reallocarray(question->session, room, sizeof(*question->session));

                if (!grown)
                        return -ENOMEM;
                question->session = grown;
                question->room = room;
        }
        question->session[question->count++] = *session;
        return 0;
}

static int by_name(const void *a, const void *b)
{
        const struct client_session *first = a, *second = b;

        return strcmp(first->name, second->name);
}

static void *ask_daemon(void *context)
{
        struct question *question = context;
        const struct client_listener listener = { add_session, question, PATIENCE_MS, false };
        bool is_dropped;
        int count = 0;

        question->rc = client_list(&question->store, &listener, NULL);
        if (question->rc == 0 && question->wants_devices)
                count = client_devices(&question->store, PATIENCE_MS, question->device, NULL);
        question->device_count = count > 0 ? (unsigned)count : 0;
        question->at_ns = clock_now_ns();
        if (question->count)
                qsort(question->session, question->count, sizeof(*question->session), by_name);
        pthread_mutex_lock(&question->lock);
        question->is_over = true;
        is_dropped = question->is_dropped;
        pthread_cond_signal(&question->ended);
        pthread_mutex_unlock(&question->lock);
        if (is_dropped)
                free_question(question);
        return NULL;
}

/* Starts the thread with all signals blocked, so that the main thread gets them. */
static int start_thread(struct question *question)
{
        sigset_t all, before;
        pthread_t thread;
        int rc;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        rc = pthread_create(&thread, NULL, ask_daemon, question);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (rc == 0)
                pthread_detach(thread);
        return rc;
}

struct question *question_ask(const struct store *store, bool wants_devices)
{
        struct question *question = calloc(1, sizeof(*question));
        pthread_condattr_t monotonic;

        if (!question)
                return NULL;
        question->store = *store;
        question->wants_devices = wants_devices;
        pthread_mutex_init(&question->lock, NULL);
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&question->ended, &monotonic);
        pthread_condattr_destroy(&monotonic);
        if (start_thread(question) == 0)
                return question;
        free_question(question);
        return NULL;
}

bool question_is_over(struct question *question, unsigned wait_ms)
{
        uint64_t until_ns = clock_machine_ns() + (uint64_t)wait_ms * NS_A_MS;
        const struct timespec until = clock_timespec(until_ns);
        bool is_over;
        int rc = 0;

        pthread_mutex_lock(&question->lock);
        while (!question->is_over && rc == 0)
                rc = pthread_cond_timedwait(&question->ended, &question->lock, &until);
        is_over = question->is_over;
        pthread_mutex_unlock(&question->lock);
        return is_over;
}

void question_drop(struct question *question)
{
        bool is_over;

        if (!question)
                return;
        pthread_mutex_lock(&question->lock);
        question->is_dropped = true;
        is_over = question->is_over;
        pthread_mutex_unlock(&question->lock);
        if (is_over)
                free_question(question);
}
