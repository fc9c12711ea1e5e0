/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler's thread: reads from the sessions' pages what they want of their GPUs, passes it to
 * core/sched, and writes the leases that core/sched decides.
 *
 *      scheduler_start(&scheduler, store, &err);
 *      scheduler_put(scheduler, session)       // session's folder was made, or its terms changed
 *      scheduler_drop(scheduler, id)           // session is about to be removed
 *      scheduler_read(scheduler, id, share)    // GPU time, for the API
 *      scheduler_stop(scheduler);
 *
 * The scheduler has a thread of its own, because a lease must end within microseconds of its time,
 * while the daemon's event loop may be busy with the database
 * (docs/decisions/008-scheduler-thread.md). The event loop calls all functions declared here. They
 * wait at most for one step of the core, except scheduler_totals() and scheduler_claim(): these
 * wait up to 20 ms until the thread has read the pages again, because a tenant can delay the
 * reading (seat.h).
 *
 * A session that never launched costs the thread no time. At its first launch a session raises a
 * futex word in its page, its bell, and the thread begins to schedule it. While a session has its
 * devices to itself, has no cap or guarantee, and is of class normal, it runs as if there were no
 * scheduler. Otherwise its page says that there is a scheduler (the time stamp
 * limits_page.scheduler_at_ns), and leases apply. When the daemon stops, that time stamp is no
 * longer renewed, and every session keeps its own cap.
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_SCHEDULER_H
#define ALIQUOT_DAEMON_SCHEDULE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sched.h"
#include "core/sessions.h"
#include "store/store.h"

struct scheduler;

/* Starts the thread. `store` must outlive the scheduler. If `has_leases` is false, the scheduler
 * only reads counters and writes no leases. */
int scheduler_start(struct scheduler **ret, const struct store *store, bool has_leases,
                    struct error *err);

/* Ends the scheduler and leaves every session free to run. `scheduler` may be NULL. */
void scheduler_stop(struct scheduler *scheduler);

/* Adds or changes a session, which is borrowed for the call. A new session needs a descriptor, so
 * at most `seats_max` sessions are added. On failure (-EMFILE if there are too many, and the
 * errors of seat_open()) the session gets no turns, or keeps its old terms. */
int scheduler_put(struct scheduler *scheduler, const struct sessions_one *session,
                  unsigned seats_max, struct error *err);

/* Removes a session; does nothing if the scheduler does not know it. */
void scheduler_drop(struct scheduler *scheduler, const uint8_t id[16]);

/* Fills in what the programs of all sessions counted since the daemon's start: SEAT_COUNTERS sums
 * (seat.h) that never decrease. Programs can forge their counts. */
void scheduler_totals(struct scheduler *scheduler, uint64_t *ret);

/* A session's GPU time since it first launched on the GPU. */
struct scheduler_view {
        bool is_watched;
        /* time during which its lease was open or its work drained; its part of that time if others
         * ran as well */
        uint64_t held_ns;
        uint64_t billed_ns; /* the part of held_ns that was measured as busy */
        /* time during which it wanted the device while another session had it */
        uint64_t waited_ns;
        /* time during which it wanted the device while its own cap was reached */
        uint64_t throttled_ns;
        uint64_t overrun_ns; /* time during which it ran beyond the end of its leases */
        uint64_t leases;
        int64_t bucket_ns; /* level of its cap's token bucket; below 0: debt */
};

/* Fills in, for a GPU, how long sessions wait for turns, and how long closing and hand-over take.
 * False: no session launched on it. */
bool scheduler_times(struct scheduler *scheduler, const uint8_t uuid[16], struct sched_times *ret);

/* Fills in the GPU time of a session on one of its GPUs. False: the session never launched
 * there. */
bool scheduler_read(struct scheduler *scheduler, const uint8_t id[16], unsigned share,
                    struct scheduler_view *ret);

/* What a session's programs claim about one GPU, and what the scheduler measured. */
struct scheduler_claim {
        bool is_watched;   /* leases apply: its GPU time is measured even without a cap */
        bool is_in_flight; /* its programs claim to have work in flight */
        uint64_t busy_ns;  /* GPU time that its programs claim, since the session's start */
        uint64_t held_ns;  /* scheduler_view.held_ns; 0: the session has not launched */
        uint64_t owed_ns;  /* debt of the token bucket that its programs keep */
        bool is_free;      /* no lease applies, so its programs keep the cap by their own bucket */
        /* number of leases so far; while it is unchanged, no new lease was written */
        uint64_t leases;
};

/* Fills in the claim. False: the scheduler does not know the session, or its page is damaged. */
bool scheduler_claim(struct scheduler *scheduler, const uint8_t id[16], unsigned share,
                     struct scheduler_claim *ret);

#endif
