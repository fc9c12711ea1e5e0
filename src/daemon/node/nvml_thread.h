/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that asks NVML, which may block as long as the driver likes.
 *
 *      nvml_thread_start(&thread, &options, &err)
 *      nvml_thread_ask(thread, &ask)           // from the event loop; one at a time
 *      done(look, context)                     // in the event loop, when it has been answered
 *      nvml_thread_stop(thread)
 *
 * It alone calls NVML, and it does nothing else but to find out who the processes are that NVML
 * lists. It shares nothing with the loop but questions and finished looks: a look that is being
 * taken belongs to the thread, one that is handed over to the loop. When the driver hangs, the
 * thread hangs, the loop goes on with the look it has, and nvml_thread_silent_ns() tells; a thread
 * that does not come back is left behind when the daemon ends. See docs/decisions/006.
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
        uint32_t suspect[NVML_SUSPECTS];   /* pids whose identity is to be read again */
        struct identity_sessions sessions; /* of which somebody may be */
};

struct nvml_look {
        enum sample_extent extent;
        char trouble[512];    /* why there are no cards; "" if there are */
        struct cards cards;   /* with what is used now */
        struct sample sample; /* of those cards, in their order */
        uint64_t took_ns;
        /* Those of the sample's processes of which it is certain who they are, in the order of
         * their pids. */
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

/* Begins a request; false: the thread is still at the last one. */
bool nvml_thread_ask(struct nvml_thread *thread, const struct nvml_ask *ask);

/* Waits for what was asked, for so long at most, and hands it over. */
void nvml_thread_wait(struct nvml_thread *thread, unsigned most_ms);

/* The latest whole look; empty before the first. Valid until the next whole one is handed over. */
const struct nvml_look *nvml_thread_latest(const struct nvml_thread *thread);

/* For how long it has been about what was asked last; 0: it has answered. */
uint64_t nvml_thread_silent_ns(const struct nvml_thread *thread);

/* The process that has this pid; NULL: it is not certain which. */
const struct identity *nvml_look_who(const struct nvml_look *look, uint32_t pid);

#endif
