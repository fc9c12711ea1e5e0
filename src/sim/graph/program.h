/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instantiated graph as the device sees it: nodes in an order that respects their dependencies.
 *
 * Immutable once launched: a launch holds a reference, and an update of the executable graph makes
 * a copy if a launch holds one. Node i depends only on nodes before i. Independent nodes run one
 * after the other on the host, but their modelled times overlap. Any thread may hold and run one.
 */
#ifndef ALIQUOT_SIM_GRAPH_PROGRAM_H
#define ALIQUOT_SIM_GRAPH_PROGRAM_H

#include "common/atomic.h"
#include "sim/exec/op.h"

struct graph_program;

void graph_program_retain(struct graph_program *program);
void graph_program_release(struct graph_program *program);

/* Estimated maximum engine time, from the last times of its kernels. */
uint64_t graph_program_estimate_ns(const struct graph_program *program);

void graph_program_run(struct graph_program *program, struct op_run *run);

/* Ends a launch, run or not, and drops its reference. */
void graph_program_end(struct graph_program *program);

#endif
