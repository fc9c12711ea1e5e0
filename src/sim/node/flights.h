/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference for flights (flight.h), with flights=on: for each device and process, and for each
 * device and session tag over all its processes.
 *
 * A piece of work is a kernel, a graph, a fill, or a copy within the device. It is submitted when
 * the call enters the driver, and complete when the model says so. In virtual time both are exact;
 * in real time a driver thread that wakes up late hides gaps that are shorter than its delay.
 */
#ifndef ALIQUOT_SIM_NODE_FLIGHTS_H
#define ALIQUOT_SIM_NODE_FLIGHTS_H

#include <stdint.h>

#include "sim/node/node.h"

/* The calling process, on a device of the node. Nothing before node_attach(). */
void flights_submit(unsigned device, uint64_t submitted_ns);
void flights_complete(unsigned device, uint64_t end_ns);

/* Up to now, of a process by its row, and of a tag. Flights of dead processes end when these were
 * last seen alive, and count as ended from the next flights_settle() on. */
uint64_t flights_of_row(struct sim_node *node, unsigned device, unsigned row);
uint64_t flights_of_tag(struct sim_node *node, unsigned device, unsigned tag);

/* Removes the dead processes' work in flight from their tags. Call before their rows are free. */
void flights_settle(struct sim_node *node, unsigned device);

/* A row is taken by a new process. */
void flights_begin(struct sim_node *node, unsigned row);

#endif
