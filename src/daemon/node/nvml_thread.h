/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that calls NVML, which may block as long as the driver likes.
 *
 *      nvml_thread_start(&thread, &options, &err)
 *      nvml_thread_ask(thread, &ask)           // from the event loop; one at a time
 *      done(look, context)                     // in the event loop, with the answer
 *      nvml_thread_stop(thread)
 *
 * Only this thread calls NVML. It also identifies the processes that NVML lists, and does nothing
 * else. It shares only questions and finished polls with the loop: an unfinished poll belongs to
 * the thread, a finished one to the loop. If the driver hangs, the thread hangs; the loop goes on
 * with the last poll, and nvml_thread_silent_ns() shows it. A thread that does not return is
 * abandoned when the daemon ends. See docs/decisions/006.
 */
#ifndef ALIQUOT_DAEMON_NODE_NVML_THREAD_H
#define ALIQUOT_DAEMON_NODE_NVML_THREAD_H

#include <event2/event.h>

#include "daemon/processes/identity.h"
#include "machine/cards.h"
#include "machine/sample.h"

#define NVML_SUSPECTS 64u

struct nvml_thread;

struct nvml_ask {
        enum sample_extent extent;
        bool must_restart; /* NVML from the beginning */
        unsigned suspect_count;
        uint32_t suspect[NVML_SUSPECTS];   /* pids whose identity must be read again */
        struct identity_sessions sessions; /* to which processes may belong */
};

struct nvml_look {
        enum sample_extent extent;
        char trouble[512];    /* why there are no cards; "" if there are */
        struct cards cards;   /* with their present usage */
        struct sample sample; /* of those cards, in their order */
        uint64_t took_ns;
        /* The identified processes of the sample, in the order of their pids. */
        unsigned who_count, who_room;
        struct identity *who;
};

typedef void nvml_done(const struct nvml_look *look, void *context);

struct nvml_thread_options {
        struct event_base *base;
        const char *nvml; /* as for dlopen(); borrowed for the thread's life */
        nvml_done *done;  /* the look is valid until the next is asked for */
        void *context;
};

int nvml_thread_start(struct nvml_thread **ret, const struct nvml_thread_options *options,
                      struct error *err);

/* Ends the thread. NULL is fine. */
void nvml_thread_stop(struct nvml_thread *thread);

/* Begins a request; false: the thread still handles the last one. */
bool nvml_thread_ask(struct nvml_thread *thread, const struct nvml_ask *ask);

/* Waits for the answer, `most_ms` at most, and delivers it. */
void nvml_thread_wait(struct nvml_thread *thread, unsigned most_ms);

/* The latest complete poll; empty before the first. Valid until the next one is delivered. */
const struct nvml_look *nvml_thread_latest(const struct nvml_thread *thread);

/* How long the last request has been unanswered; 0: it was answered. */
uint64_t nvml_thread_silent_ns(const struct nvml_thread *thread);

/* The process with this pid; NULL: not identified. */
const struct identity *nvml_look_who(const struct nvml_look *look, uint32_t pid);

#endif
