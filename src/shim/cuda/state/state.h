/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All state of the CUDA front end, with one header for each subject. It is kept in this one folder,
 * below all others, because the kernel wipes it in a forked child.
 *
 * A child cannot use its parent's driver objects and owns none of its charges, so its correct
 * initial state is all zero. The wipe also releases locks whose holder does not exist in the child,
 * and no handler needs to run at fork. The header of each part names the part's lock. No lock is
 * held across a driver call, except primary_lock. graphs_lock is taken last. Otherwise a thread
 * never holds two of these locks together, except that the functions of charge.h take their own
 * lock inside, and where a comment here says so.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_STATE_H
#define ALIQUOT_SHIM_CUDA_STATE_STATE_H

#include <stdint.h>

#include "common/atomic.h"

/* Whether state_mark_all() was called. Inherited by a forked child, like the marks on the pages. */
extern _Atomic uint32_t state_is_marked;

void state_mark_all(void);

/* Marks the state's pages for the wipe at fork. Call before any of the state is written, in parent
 * and child. Any thread. */
static inline void state_mark(void)
{
        if (!load_relaxed(&state_is_marked))
                state_mark_all();
}

#endif
