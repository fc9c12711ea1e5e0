/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flight: the time in which a process has work in flight on a device.
 *
 * A flight begins at a submission, by the host's clock. Its end is known exactly if the program
 * waited for the work in a blocking call. Otherwise the flight is sampled: time is cut into slots,
 * and in each slot the streams are polled once (a *look*), at a random moment. If work is in flight
 * at that moment, the whole slot counts. So over many flights the sum is right, whatever their
 * lengths: each moment of a flight is sampled with the same probability, and the moments of the
 * looks do not depend on the program. The slot in which a flight began is special: once a look in a
 * later slot has found the flight, it counts from the beginning of the flight.
 *
 * The functions read no clock: times are CLOCK_MONOTONIC in nanoseconds, and the caller passes them
 * in. The caller holds the device's lock.
 */
#ifndef ALIQUOT_SHIM_TIME_FLIGHT_H
#define ALIQUOT_SHIM_TIME_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define FLIGHT_SLOT_NS UINT64_C(250000)
/* Length of the slots in which looks are rare, for flights that are long or that waits usually
 * end, and for sessions without limits: each look delays a program that launches meanwhile. */
#define FLIGHT_LONG_SLOT_NS UINT64_C(1250000)

struct flight {
        uint64_t begin_ns; /* when the flight began; 0: nothing is in flight */
        uint64_t busy_ns;  /* until when work is known to have been in flight */
        uint64_t seed; /* seed of the random moments; all processes of a session have the same */
        uint64_t first_until_ns; /* end of the slot in which the flight began */
        uint64_t first_ns;       /* how much that slot counts: its length, or 0 */
        uint64_t slots_ns;       /* how much all later slots count */
        uint64_t slot_ns;        /* begin of the slot of the next look */
        uint64_t length_ns;      /* length of that slot */
        uint64_t look_ns;        /* the moment of that look */
        bool is_coarse;          /* no limit depends on the flight's length; set by the caller */
        /* number of flights that ended in a wait; halved by each flight that did not */
        uint32_t waited;
        uint64_t usual_ns; /* usual length of flights, smoothed */
        uint64_t ended_ns; /* end of the last flight */
};

/* Begins a flight: the program submitted work while nothing was in flight. */
void flight_begin(struct flight *flight, uint64_t now_ns);

/* Begins a flight whose beginning was not seen: work is in flight at `now_ns`. If that is the
 * moment of the slot's look, the slot counts whole, or from the end of the last flight on. */
void flight_begin_unseen(struct flight *flight, uint64_t now_ns);

/* Notes that work was in flight at `now_ns`. */
void flight_seen(struct flight *flight, uint64_t now_ns);

/* Ends the flight at `end_ns`, when a wait of the program that blocked for the work returned. */
void flight_end_at(struct flight *flight, uint64_t end_ns);

/* Ends the flight at `now_ns`; its exact end is unknown. Returns the time to bill beyond
 * busy_ns, which may be negative. */
int64_t flight_end(struct flight *flight, uint64_t now_ns);

/* Returns when the next look is due, after `now_ns`. Also while nothing is in flight, because a
 * flight may begin. */
uint64_t flight_look_ns(struct flight *flight, uint64_t now_ns);

#endif
