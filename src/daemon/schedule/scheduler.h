/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor of core/sched: a thread that watches what sessions want of their GPUs, and writes
 * their leases.
 *
 *      scheduler_start(&scheduler, store, &err);
 *      scheduler_put(scheduler, session)       // its folder was made, or its terms changed
 *      scheduler_drop(scheduler, id)           // it is about to go
 *      scheduler_read(scheduler, id, share)    // for views
 *      scheduler_stop(scheduler);
 *
 * A thread of its own, since a lease is over within microseconds of its time while the loop may be
 * busy with a database (docs/decisions/008-scheduler-thread.md). All other functions are the
 * loop's; none waits for longer than one step of the core, but scheduler_totals() and
 * scheduler_claim(): 20 ms at most for the thread to read pages again, which may make it wait
 * (seat.h).
 *
 * A session that never launched costs nothing until it rings. Who launches rings its session's bell
 * and becomes a member. One that has its devices to itself, and neither a cap nor a guarantee nor
 * another class than normal, runs as if there were no scheduler. From the second on a device, or
 * with one of these, its page says that there is one (limits_page.scheduler_at_ns), and leases
 * hold. When the daemon goes, that word grows old and every session goes by its own cap.
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_SCHEDULER_H
#define ALIQUOT_DAEMON_SCHEDULE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sched.h"
#include "core/sessions.h"
#include "store/store.h"

struct scheduler;

/* `store` is borrowed for the scheduler's life. Without leases it only counts. */
int scheduler_start(struct scheduler **ret, const struct store *store, bool has_leases,
                    struct error *err);

/* Ends the scheduler and leaves every gate open. NULL is fine. */
void scheduler_stop(struct scheduler *scheduler);

/* `session` is borrowed for the call. A new one takes a descriptor, of which there are to be
 * `seats_most`. On failure (-EMFILE, and those of seat_open()) it gets no turns, or those of the
 * terms it had. */
int scheduler_put(struct scheduler *scheduler, const struct sessions_one *session,
                  unsigned seats_most, struct error *err);

/* Takes a session away; one that was never put is passed over. */
void scheduler_drop(struct scheduler *scheduler, const uint8_t id[16]);

/* What all sessions' programs counted since the daemon began: SEAT_COUNTERS numbers (seat.h), each
 * only ever raised. They are the programs' own words. */
void scheduler_totals(struct scheduler *scheduler, uint64_t *ret);

/* What a session had of a GPU since it first launched; nanoseconds. */
struct scheduler_view {
        bool is_watched;
        uint64_t held_ns;      /* the gate open, or draining; with others beside it, its part */
        uint64_t billed_ns;    /* of that, measured as busy */
        uint64_t waited_ns;    /* wanted, and somebody else had the device */
        uint64_t throttled_ns; /* wanted, and its own cap was reached */
        uint64_t overrun_ns;   /* beyond the end of its leases */
        uint64_t leases;
        int64_t bucket_ns; /* level of its cap's token bucket; below 0: debt */
};

/* How long turns of a GPU are waited for, given up and passed on. False: nobody launched there. */
bool scheduler_times(struct scheduler *scheduler, const uint8_t uuid[16], struct sched_times *ret);

/* Reads the account of a session on a GPU; false: it never launched there. */
bool scheduler_read(struct scheduler *scheduler, const uint8_t id[16], unsigned share,
                    struct scheduler_view *ret);

/* What a session's programs claim of a GPU, and what was seen of them. */
struct scheduler_claim {
        bool is_watched;   /* leases hold: it is measured although it has no cap */
        bool is_in_flight; /* by its own word */
        uint64_t busy_ns;  /* its meter; ever since */
        uint64_t held_ns;  /* since it first launched; 0: it has not */
        uint64_t owed_ns;  /* its debt, by its own bucket */
        bool is_free;      /* it goes by that bucket, */
        uint64_t leases;   /* and has done so since it had the last of these */
};

/* False: it was never put, or its page is gone. */
bool scheduler_claim(struct scheduler *scheduler, const uint8_t id[16], unsigned share,
                     struct scheduler_claim *ret);

#endif
