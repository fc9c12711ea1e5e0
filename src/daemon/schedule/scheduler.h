/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler's thread: reads what sessions want of their GPUs, steps core/sched, and writes the
 * leases.
 *
 *      scheduler_start(&scheduler, store, &err);
 *      scheduler_put(scheduler, session)       // its folder was made, or its terms changed
 *      scheduler_drop(scheduler, id)           // it is about to go
 *      scheduler_read(scheduler, id, share)    // for views
 *      scheduler_stop(scheduler);
 *
 * It has a thread of its own, because a lease must end within microseconds of its time while the
 * loop may be busy with a database (docs/decisions/008-scheduler-thread.md). The loop calls all
 * other functions. None waits for longer than one step of the core, except scheduler_totals() and
 * scheduler_claim(): these wait up to 20 ms until the thread has read pages again, which may make
 * the thread wait (seat.h).
 *
 * A session that never launched costs nothing until it rings. At its first launch a session rings
 * its bell and becomes a member. A session that has its devices to itself, without cap or guarantee
 * and of class normal, runs as if there were no scheduler. With a second session on the device, or
 * with one of these terms, its page says that there is a scheduler (limits_page.scheduler_at_ns),
 * and leases apply. When the daemon stops, that time stamp becomes old, and every session keeps its
 * own cap.
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_SCHEDULER_H
#define ALIQUOT_DAEMON_SCHEDULE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sched.h"
#include "core/sessions.h"
#include "store/store.h"

struct scheduler;

/* `store` must outlive the scheduler. Without leases it only counts. */
int scheduler_start(struct scheduler **ret, const struct store *store, bool has_leases,
                    struct error *err);

/* Ends the scheduler and leaves every gate open. NULL is fine. */
void scheduler_stop(struct scheduler *scheduler);

/* Adds or changes a session, which is borrowed for the call. A new session needs a descriptor; at
 * most `seats_most` exist. On failure (-EMFILE, and the errors of seat_open()) it gets no turns, or
 * keeps its old terms. */
int scheduler_put(struct scheduler *scheduler, const struct sessions_one *session,
                  unsigned seats_most, struct error *err);

/* Removes a session; does nothing for an unknown one. */
void scheduler_drop(struct scheduler *scheduler, const uint8_t id[16]);

/* Sums of what all sessions' programs counted since the daemon began: SEAT_COUNTERS numbers
 * (seat.h) that never decrease. Programs can forge them. */
void scheduler_totals(struct scheduler *scheduler, uint64_t *ret);

/* A session's GPU time since it first launched; nanoseconds. */
struct scheduler_view {
        bool is_watched;
        uint64_t held_ns;      /* gate open, or draining; beside others, its part of that */
        uint64_t billed_ns;    /* the part of it that was measured as busy */
        uint64_t waited_ns;    /* it wanted the device, and another session had it */
        uint64_t throttled_ns; /* it wanted the device, and its own cap was reached */
        uint64_t overrun_ns;   /* beyond the end of its leases */
        uint64_t leases;
        int64_t bucket_ns; /* level of its cap's token bucket; below 0: debt */
};

/* How long sessions wait for turns of a GPU, and how long closing and hand-over take. False: no
 * session launched there. */
bool scheduler_times(struct scheduler *scheduler, const uint8_t uuid[16], struct sched_times *ret);

/* Reads the account of a session on a GPU; false: it never launched there. */
bool scheduler_read(struct scheduler *scheduler, const uint8_t id[16], unsigned share,
                    struct scheduler_view *ret);

/* What a session's programs claim of a GPU, and what the scheduler measured. */
struct scheduler_claim {
        bool is_watched;   /* leases apply: its time is measured even without a cap */
        bool is_in_flight; /* as it claims */
        uint64_t busy_ns;  /* its meter, since the beginning */
        uint64_t held_ns;  /* since it first launched; 0: it has not */
        uint64_t owed_ns;  /* its debt, by its own bucket */
        bool is_free;      /* it keeps its cap by that bucket, ... */
        uint64_t leases;   /* ... and has since the last of these leases */
};

/* False: the session was never added, or its page is gone. */
bool scheduler_claim(struct scheduler *scheduler, const uint8_t id[16], unsigned share,
                     struct scheduler_claim *ret);

#endif
