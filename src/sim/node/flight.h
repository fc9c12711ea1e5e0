/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how long a process or a session had work in flight: the length of the union of
 * [submitted, complete] of all its pieces of work.
 *
 * A *flight* is a longest interval in which some piece is submitted and not complete. Begins and
 * ends may be reported late and out of order, as long as a piece's submission is reported before
 * its end: a report for a time before the flight's beginning, and after the end of the last flight,
 * moves the beginning back. A gap that ended before the end that opened it was reported is not
 * seen.
 *
 * No clock and no lock: the caller has both. All zero: no flight yet.
 */
#ifndef ALIQUOT_SIM_NODE_FLIGHT_H
#define ALIQUOT_SIM_NODE_FLIGHT_H

#include <stdint.h>

struct node_flight {
        uint64_t total_ns; /* of the earlier flights */
        uint64_t floor_ns; /* end of the last flight */
        uint64_t begin_ns;
        uint64_t end_ns;  /* the latest that was told */
        uint64_t seen_ns; /* the latest time that was told at all */
        uint32_t open;    /* pieces submitted and not complete */
};

void flight_submit(struct node_flight *flight, uint64_t submitted_ns);
void flight_complete(struct node_flight *flight, uint64_t end_ns);

/* `pieces` will never complete: their process died, and was last alive at seen_ns. */
void flight_abandon(struct node_flight *flight, uint32_t pieces, uint64_t seen_ns);

/* Up to now, work that is still in flight included. */
static inline uint64_t flight_ns(const struct node_flight *flight, uint64_t now_ns)
{
        uint64_t end_ns = flight->open && now_ns > flight->end_ns ? now_ns : flight->end_ns;

        return flight->total_ns + end_ns - flight->begin_ns;
}

#endif
