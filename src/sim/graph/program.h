/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instantiated graph as the device executes it: nodes in an order that respects their
 * dependencies.
 *
 * A program is immutable once launched: each launch holds a reference, and an update of the
 * executable graph makes a new program. Node i depends only on nodes before i. Independent nodes
 * run one after the other on the host, but their modelled times overlap. Any thread may hold a
 * reference and run a program.
 */
#ifndef ALIQUOT_SIM_GRAPH_PROGRAM_H
#define ALIQUOT_SIM_GRAPH_PROGRAM_H

#include "common/atomic.h"
#include "sim/exec/op.h"

struct graph_program;

void graph_program_retain(struct graph_program *program);
void graph_program_release(struct graph_program *program);

/* Returns an estimate of the engine time: the sum over the nodes, from the last times of their
 * kernels. */
uint64_t graph_program_estimate_ns(const struct graph_program *program);

void graph_program_run(struct graph_program *program, struct op_run *run);

/* Ends a launch, whether or not it ran, and drops its reference. */
void graph_program_end(struct graph_program *program);

#endif
