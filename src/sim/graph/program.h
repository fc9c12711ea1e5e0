/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instantiated graph as the device sees it: nodes in an order that respects their dependencies.
 *
 * Immutable once launched: a launch holds a reference, and an update of the executable graph
 * makes a copy when somebody holds one. Node i may depend on nodes before i only. Independent nodes
 * run one after the other on the host, but their modelled times overlap. Any thread may hold and
 * run one.
 */
#ifndef ALIQUOT_SIM_GRAPH_PROGRAM_H
#define ALIQUOT_SIM_GRAPH_PROGRAM_H

#include "common/atomic.h"
#include "sim/exec/op.h"

struct graph_program;

void graph_program_retain(struct graph_program *program);
void graph_program_release(struct graph_program *program);

/* How long it will take of the engine, at most, by how long its kernels took last. */
uint64_t graph_program_estimate_ns(const struct graph_program *program);

void graph_program_run(struct graph_program *program, struct op_run *run);

/* A launch of it is over, or never ran; with the launch's reference. */
void graph_program_end(struct graph_program *program);

#endif
