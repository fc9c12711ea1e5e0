/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flight: the time in which a process has work in flight on a device.
 *
 * It begins at a submission, by the host's clock. Its end is known exactly if the program waited
 * for it in a blocking call. Otherwise it is sampled: time is cut into slots, and each slot has one
 * look at a random moment. A slot counts whole if work was in flight at its look. So over many
 * flights the sum is right, whatever their lengths: each moment of a flight is sampled with the
 * same probability, and the moments of the looks do not depend on the program. The slot in which a
 * flight began counts from the beginning of the flight, once a look in a later slot has seen the
 * flight.
 *
 * Pure: times are CLOCK_MONOTONIC in nanoseconds, and the caller passes them in. Runs under the
 * device's lock.
 */
#ifndef ALIQUOT_SHIM_TIME_FLIGHT_H
#define ALIQUOT_SHIM_TIME_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define FLIGHT_SLOT_NS UINT64_C(250000)
/* Slot length for long flights, where most flights are long, end by waits anyway, and no limit
 * depends on them: each look delays a program that launches meanwhile. */
#define FLIGHT_LONG_SLOT_NS UINT64_C(1250000)

struct flight {
        uint64_t begin_ns; /* 0: nothing is in flight */
        uint64_t busy_ns;  /* work was in flight at least until then */
        uint64_t seed;     /* seed of the look moments; all processes of a session have the same */
        uint64_t first_until_ns; /* end of the slot in which the flight began */
        uint64_t first_ns;       /* what that slot counts: its length, or 0 */
        uint64_t slots_ns;       /* the sum of all later slots */
        uint64_t slot_ns;        /* begin of the slot of the next look, ... */
        uint64_t length_ns;
        uint64_t look_ns;  /* ... and the moment of that look */
        bool is_coarse;    /* no limit depends on it; set by the caller */
        uint32_t waited;   /* number of flights that a wait ended; halved by each other flight */
        uint64_t usual_ns; /* their usual length, smoothed */
        uint64_t ended_ns; /* end of the last flight */
};

/* Begins a flight: the program submitted work while nothing was in flight. */
void flight_begin(struct flight *flight, uint64_t now_ns);

/* Begins a flight whose beginning was not seen: work is in flight at `now_ns`. At the look of its
 * slot the slot counts whole, from the end of the last flight on. */
void flight_begin_unseen(struct flight *flight, uint64_t now_ns);

/* Notes that work was in flight at `now_ns`. */
void flight_seen(struct flight *flight, uint64_t now_ns);

/* Ends the flight at `end_ns`, when a wait of the program that blocked for it returned. */
void flight_end_at(struct flight *flight, uint64_t end_ns);

/* Ends the flight, whose exact end is unknown, at `now_ns`. Returns the time to bill beyond
 * busy_ns; it may be negative. */
int64_t flight_end(struct flight *flight, uint64_t now_ns);

/* When the next look is due, after `now_ns`. Also while nothing is in flight, because a flight may
 * begin. */
uint64_t flight_look_ns(struct flight *flight, uint64_t now_ns);

#endif
