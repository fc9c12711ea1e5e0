/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls NVML in a thread of its own, because an NVML call may block without a time limit.
 *
 *      nvml_thread_start(&thread, &options, &err)
 *      nvml_thread_ask(thread, &ask)           // from the event loop; one request at a time
 *      done(look, context)                     // in the event loop, with the answer
 *      nvml_thread_stop(thread)
 *
 * Only this thread calls NVML. It also identifies the processes that NVML lists. It shares only
 * requests and finished polls with the event loop: an unfinished poll belongs to the thread, a
 * finished poll to the loop. If the driver hangs, the thread hangs, the loop goes on with the last
 * poll, and nvml_thread_silent_ns() tells for how long. A thread that does not return is abandoned
 * when the daemon ends. See docs/decisions/006.
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
        bool must_restart; /* end NVML and start it again first */
        unsigned suspect_count;
        uint32_t suspect[NVML_SUSPECTS];   /* pids whose identity must be read again */
        struct identity_sessions sessions; /* the sessions to which processes may belong */
};

struct nvml_look {
        enum sample_extent extent;
        char trouble[512];    /* why there are no cards; "" if there are */
        struct cards cards;   /* the cards, with their present memory usage */
        struct sample sample; /* usage and processes of `cards`, in the same order */
        uint64_t took_ns;
        /* The identified processes of the sample, sorted by pid. */
        unsigned who_count, who_room;
        struct identity *who;
};

typedef void nvml_done(const struct nvml_look *look, void *context);

struct nvml_thread_options {
        struct event_base *base;
        const char *nvml; /* NVML's file name, as for dlopen(); borrowed for the thread's life */
        /* called with each finished poll, which is valid until the next request */
        nvml_done *done;
        void *context;
};

int nvml_thread_start(struct nvml_thread **ret, const struct nvml_thread_options *options,
                      struct error *err);

/* Ends the thread, or abandons it if it hangs. `thread` may be NULL. */
void nvml_thread_stop(struct nvml_thread *thread);

/* Begins a request. False: the thread still handles the last request. */
bool nvml_thread_ask(struct nvml_thread *thread, const struct nvml_ask *ask);

/* Waits at most `max_ms` for the answer to the last request, and passes it to done(). */
void nvml_thread_wait(struct nvml_thread *thread, unsigned max_ms);

/* Returns the latest complete poll; it is empty before the first. Valid until the next complete
 * poll is delivered. */
const struct nvml_look *nvml_thread_latest(const struct nvml_thread *thread);

/* Returns how long the last request has been unanswered; 0: it was answered. */
uint64_t nvml_thread_silent_ns(const struct nvml_thread *thread);

/* Returns the identity of the process with this pid. NULL: it is not identified. */
const struct identity *nvml_look_who(const struct nvml_look *look, uint32_t pid);

#endif
