/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flight: the time in which a process has work in flight on a device.
 *
 * It begins at a submission, by the host's clock. Its end is known exactly where a wait of the
 * program's blocked until then. Else it is sampled: time is cut into slots, and each slot has one
 * look, at a random moment of it. A slot counts whole if work was in flight at its look. So over
 * many flights the sum is right whatever their lengths are: each moment of a flight is met with the
 * same chance, and nothing that the program does depends on when the looks are. The slot that a
 * flight began in counts from there on once the flight was seen in a later one.
 *
 * Pure: times are CLOCK_MONOTONIC in nanoseconds, and the caller's. Under the device's lock.
 */
#ifndef ALIQUOT_SHIM_TIME_FLIGHT_H
#define ALIQUOT_SHIM_TIME_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define FLIGHT_SLOT_NS UINT64_C(250000)
/* Of a flight that lasts, where most of them do, where they end by waits anyway, and where nobody's
 * limit depends on it: each look holds up a program that launches meanwhile. */
#define FLIGHT_LONG_SLOT_NS UINT64_C(1250000)

struct flight {
        uint64_t begin_ns; /* 0: nothing is in flight */
        uint64_t busy_ns;  /* work was in flight until then, at least */
        uint64_t seed;     /* of the moments of looks: all processes of a session have the same */
        uint64_t first_until_ns; /* the slot that it began in ends */
        uint64_t first_ns;       /* what that counts: its length, or nothing */
        uint64_t slots_ns;       /* the same of all slots since */
        uint64_t slot_ns;        /* the slot that the next look is in begins, ... */
        uint64_t length_ns;
        uint64_t look_ns;  /* ... and is looked at */
        bool is_coarse;    /* no limit depends on it: set by the caller */
        uint32_t waited;   /* flights that a wait ended; half as many after one that none did */
        uint64_t usual_ns; /* how long they are, smoothed */
        uint64_t ended_ns; /* the last one was seen to be over */
};

/* Begins a flight: something was submitted while nothing was in flight. */
void flight_begin(struct flight *flight, uint64_t now_ns);

/* Work is in flight at `now_ns`, and began nobody knows when. At the look of its slot that one
 * counts whole, but for what came before the last flight's end. */
void flight_begin_unseen(struct flight *flight, uint64_t now_ns);

/* Notes that work was in flight at `now_ns`. */
void flight_seen(struct flight *flight, uint64_t now_ns);

/* It is over, and was seen to be by a wait that blocked until `end_ns`. */
void flight_end_at(struct flight *flight, uint64_t end_ns);

/* It is over at `now_ns`, since nobody knows when. Returns what is to be billed beyond busy_ns,
 * which may be less than nothing. */
int64_t flight_end(struct flight *flight, uint64_t now_ns);

/* When the next look is, after `now_ns`; also while nothing is in flight, for what may begin soon.
 */
uint64_t flight_look_ns(struct flight *flight, uint64_t now_ns);

#endif
