/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the CUDA front end remembers, by subject: a header beside this one each. It is in one
 * folder below all others, because the kernel wipes it in a forked child.
 *
 * A child cannot use what the parent made with the driver, and owns none of its charges: all zero
 * is exactly what it has. So no lock can be found held by a thread that does not exist there, and
 * no handler runs at fork. Each part names its lock. No lock is held across a call of the driver
 * but those of primary contexts; graphs_lock is taken last, and the others are never two
 * at once (but that of the charge, inside its own verbs, and where state says so).
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_STATE_H
#define ALIQUOT_SHIM_CUDA_STATE_STATE_H

#include <stdint.h>

#include "common/atomic.h"

/* A child's pages are marked as its parent's were. */
extern _Atomic uint32_t state_is_marked;

void state_mark_all(void);

/* Before any of it is written, in parent and child. Any thread. */
static inline void state_mark(void)
{
        if (!load_relaxed(&state_is_marked))
                state_mark_all();
}

#endif
