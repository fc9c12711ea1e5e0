/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory that a context takes in addition to its initial memory, in several parts, until it
 * ends.
 *
 * Any thread may call these functions; the caller must not hold process_lock.
 */
#ifndef ALIQUOT_SIM_CONTEXT_GROWTH_H
#define ALIQUOT_SIM_CONTEXT_GROWTH_H

#include <stdint.h>

#include "sim/context/context.h"

/* Sets the size of a part. OUT_OF_MEMORY, without a change, when the device is full. */
CUresult growth_set(CUcontext context, enum growth part, uint64_t bytes);

/* Grows a part to at least `bytes`. */
CUresult growth_raise(CUcontext context, enum growth part, uint64_t bytes);

uint64_t growth_held(CUcontext context, enum growth part);

/* Set, or only raise, the context's memory for stacks and local memory to what `thread_bytes` for
 * each resident thread need beyond the default stack. They do nothing unless the simulator is
 * configured with `stacks` (docs/simulator-memory.md). */
CUresult growth_stack_set(CUcontext context, uint64_t thread_bytes);
CUresult growth_stack_raise(CUcontext context, uint64_t thread_bytes);

/* Resets all parts when the context ends, and returns the sum of their sizes. */
uint64_t growth_take(CUcontext context);

#endif
