/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the union of intervals from reports that may be out of order. See flight.h.
 */
#include "common/minmax.h"
#include "sim/node/flight.h"

void flight_submit(struct node_flight *flight, uint64_t submitted_ns)
{
        if (!flight->open && submitted_ns > flight->end_ns) {
                flight->total_ns += flight->end_ns - flight->begin_ns;
                flight->floor_ns = flight->end_ns;
                flight->begin_ns = submitted_ns;
                flight->end_ns = submitted_ns;
        } else if (submitted_ns < flight->begin_ns) {
                flight->begin_ns = max_u64(submitted_ns, flight->floor_ns);
        }
        flight->seen_ns = max_u64(flight->seen_ns, submitted_ns);
        flight->open++;
}

void flight_complete(struct node_flight *flight, uint64_t end_ns)
{
        flight_abandon(flight, 1, end_ns);
}

void flight_abandon(struct node_flight *flight, uint32_t pieces, uint64_t seen_ns)
{
        flight->open -= pieces < flight->open ? pieces : flight->open;
        flight->end_ns = max_u64(flight->end_ns, seen_ns);
        flight->seen_ns = max_u64(flight->seen_ns, seen_ns);
}
