/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures flights (flight.h) with flights=on: for each device and process, and for each device and
 * session tag over all its processes. Tests use it as the reference.
 *
 * The operations counted are kernels, graphs, fills and copies within the device. An operation is
 * submitted when the call enters the driver, and complete when the model says so. In virtual time
 * both times are exact. In real time, a driver thread that wakes up late hides gaps that are
 * shorter than its delay.
 */
#ifndef ALIQUOT_SIM_NODE_FLIGHTS_H
#define ALIQUOT_SIM_NODE_FLIGHTS_H

#include <stdint.h>

#include "sim/node/node.h"

/* Count an operation of the calling process on a device of the node. Before node_attach() they do
 * nothing. */
void flights_submit(unsigned device, uint64_t submitted_ns);
void flights_complete(unsigned device, uint64_t end_ns);

/* Return the time in flight up to now, of the process of a row or of a session tag. Flights of dead
 * processes end at the time at which the process was last seen alive, and are final after the next
 * flights_settle(). */
uint64_t flights_of_row(struct sim_node *node, unsigned device, unsigned row);
uint64_t flights_of_tag(struct sim_node *node, unsigned device, unsigned tag);

/* Removes the dead processes' work in flight from their tags. Call it before their rows are
 * freed. */
void flights_settle(struct sim_node *node, unsigned device);

/* Resets the counts of a row that a new process takes. */
void flights_begin(struct sim_node *node, unsigned row);

#endif
