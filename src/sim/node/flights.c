/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts work in flight by process and by tag, in the node's shared memory. See flights.h.
 *
 * Each device has a lock. If a process dies while it holds the lock, at most one operation is
 * counted for the row and not for the tag, or the reverse; the tags' counts are then summed again.
 */
#include "sim/node/flights.h"

#include <errno.h>
#include <string.h>

#include "common/atomic.h"
#include "sim/node/clock.h"
#include "sim/node/robust.h"

static struct node_flight *of_tag(struct sim_node *node, unsigned device, unsigned row)
{
        return &node->tag[node->row[row].tag].column[device].flight;
}

static void recount(struct sim_node *node, unsigned device)
{
        unsigned high = load_acquire(&node->row_high);

        for (unsigned tag = 0; tag < node->tag_count; tag++)
                node->tag[tag].column[device].flight.open = 0;
        for (unsigned row = 0; row < high; row++)
                of_tag(node, device, row)->open += node->flight[device][row].open;
}

static void lock_flights(struct sim_node *node, unsigned device)
{
        if (robust_lock(&node->device[device].flight_lock) == EOWNERDEAD) {
                recount(node, device);
                pthread_mutex_consistent(&node->device[device].flight_lock);
        }
}

static void unlock_flights(struct sim_node *node, unsigned device)
{
        pthread_mutex_unlock(&node->device[device].flight_lock);
}

/* Calls `what` for the flight of the calling process and for that of its tag. */
static void change_flights(unsigned device, void (*what)(struct node_flight *flight, uint64_t ns),
                           uint64_t ns)
{
        struct sim_node *node = node_get();
        const struct node_row *self = node_self();
        unsigned row;

        if (!self)
                return;
        row = (unsigned)(self - node->row);
        lock_flights(node, device);
        what(&node->flight[device][row], ns);
        what(of_tag(node, device, row), ns);
        unlock_flights(node, device);
}

void flights_submit(unsigned device, uint64_t submitted_ns)
{
        change_flights(device, flight_submit, submitted_ns);
}

void flights_complete(unsigned device, uint64_t end_ns)
{
        change_flights(device, flight_complete, end_ns);
}

void flights_settle(struct sim_node *node, unsigned device)
{
        unsigned high = load_acquire(&node->row_high);

        lock_flights(node, device);
        for (unsigned row = 0; row < high; row++) {
                struct node_flight *flight = &node->flight[device][row];
                uint32_t open = flight->open;

                if (!open || node_row_is_alive(node, row))
                        continue;
                flight_abandon(flight, open, flight->seen_ns);
                flight_abandon(of_tag(node, device, row), open, flight->seen_ns);
        }
        unlock_flights(node, device);
}

void flights_begin(struct sim_node *node, unsigned row)
{
        for (unsigned device = 0; device < node->device_count; device++)
                memset(&node->flight[device][row], 0, sizeof(node->flight[device][row]));
}

static uint64_t read_flight(struct sim_node *node, unsigned device,
                            const struct node_flight *flight)
{
        uint64_t ns;

        lock_flights(node, device);
        ns = flight_ns(flight, sim_now_ns());
        unlock_flights(node, device);
        return ns;
}

uint64_t flights_of_row(struct sim_node *node, unsigned device, unsigned row)
{
        return read_flight(node, device, &node->flight[device][row]);
}

uint64_t flights_of_tag(struct sim_node *node, unsigned device, unsigned tag)
{
        return read_flight(node, device, &node->tag[tag].column[device].flight);
}
