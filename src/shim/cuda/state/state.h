/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All state of the CUDA front end, one header for each subject. It is in one folder below all
 * others, because the kernel wipes it in a forked child.
 *
 * A child cannot use the driver objects of its parent, and owns none of its charges: all zero is
 * exactly its state. So a child never finds a lock held by a thread that it does not have, and no
 * handler runs at fork. Each part names its lock. No lock is held across a call of the driver,
 * except those of primary contexts. graphs_lock is taken last; otherwise two locks are never held
 * together (except that of the charge, inside its own functions, and where state says so).
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_STATE_H
#define ALIQUOT_SHIM_CUDA_STATE_STATE_H

#include <stdint.h>

#include "common/atomic.h"

/* A child's pages are marked as its parent's were. */
extern _Atomic uint32_t state_is_marked;

void state_mark_all(void);

/* Call before any of it is written, in parent and child. Any thread. */
static inline void state_mark(void)
{
        if (!load_relaxed(&state_is_marked))
                state_mark_all();
}

#endif
