/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a context takes of the card beyond its initial memory, part by part, until it ends.
 *
 * Any thread; process_lock is not held.
 */
#ifndef ALIQUOT_SIM_CONTEXT_GROWTH_H
#define ALIQUOT_SIM_CONTEXT_GROWTH_H

#include <stdint.h>

#include "sim/context/context.h"

/* Makes a part that large; OUT_OF_MEMORY, and nothing changed, when the device is full. */
CUresult growth_set(CUcontext context, enum growth part, uint64_t bytes);

/* At least that large. */
CUresult growth_raise(CUcontext context, enum growth part, uint64_t bytes);

uint64_t growth_held(CUcontext context, enum growth part);

/* Grows the part for stack and local memory to at least `thread_bytes` for each thread that can be
 * resident. Does nothing without the rule `stacks`. */
CUresult growth_stack_set(CUcontext context, uint64_t thread_bytes);
CUresult growth_stack_raise(CUcontext context, uint64_t thread_bytes);

/* Everything, when the context ends. */
uint64_t growth_take(CUcontext context);

#endif
