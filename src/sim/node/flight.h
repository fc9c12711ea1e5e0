/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how long a process or a session had work in flight: the length of the union of the
 * intervals [submitted, complete] of all its operations.
 *
 * A *flight* is a longest interval in which at all times some operation is submitted and not
 * complete. Submissions and ends may be reported late and out of order, as long as an operation's
 * submission is reported before its end. If the reported submission is before the current flight's
 * beginning, but after the end of the previous flight, the beginning moves back. A gap between two
 * flights is not seen if it had already ended when the end of the flight before it was reported.
 *
 * The functions use no clock and no lock; the caller has both. An all-zero structure means that
 * there was no flight yet.
 */
#ifndef ALIQUOT_SIM_NODE_FLIGHT_H
#define ALIQUOT_SIM_NODE_FLIGHT_H

#include <stdint.h>

struct node_flight {
        uint64_t total_ns; /* sum of the flights before the current one */
        uint64_t floor_ns; /* end of the flight before the current one */
        uint64_t begin_ns;
        uint64_t end_ns;  /* latest reported end of an operation */
        uint64_t seen_ns; /* latest time in any report */
        uint32_t open;    /* number of operations submitted and not complete */
};

void flight_submit(struct node_flight *flight, uint64_t submitted_ns);
void flight_complete(struct node_flight *flight, uint64_t end_ns);

/* Removes `pieces` operations that will never complete, because their process died. It was last
 * alive at seen_ns. */
void flight_abandon(struct node_flight *flight, uint32_t pieces, uint64_t seen_ns);

/* Returns the time in flight up to now, including work that is still in flight. */
static inline uint64_t flight_ns(const struct node_flight *flight, uint64_t now_ns)
{
        uint64_t end_ns = flight->open && now_ns > flight->end_ns ? now_ns : flight->end_ns;

        return flight->total_ns + end_ns - flight->begin_ns;
}

#endif
