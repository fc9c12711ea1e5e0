/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out how much memory a context takes on its card.
 *
 * The size is an estimate by GPU model until it is measured, once for each session and card: NVML
 * is asked about a process that has one context and nothing else on the card. Until then the
 * session's processes create contexts on the card one at a time, under a lock that is called the
 * *turn*. So at most one context is charged by the estimate, and later ones are charged the
 * measured size. A process that has the turn and does not create its context is waited for 5 s at
 * most.
 *
 * If NVML did not answer, processes no longer wait for each other, and contexts are charged by the
 * estimate until a later one can be measured. In a session created with context=free, contexts are
 * not charged. Any thread; the measured size is kept in the session's page.
 */
#ifndef ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_SIZE_H
#define ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_SIZE_H

#include "shim/cuda/place/front.h"
#include "shim/turn.h"

/* Takes the turn to create a context, if its size is not known yet. Call before context_bytes().
 * Call turn_drop() when the context is measured or was not created. NULL: there is no turn to
 * drop. */
void *context_turn_take(struct place place);

/* Returns the size to charge for a context on this place. */
uint64_t context_bytes(struct place place);

/*
 * Measures a context that was created and charged `charged`, if necessary. True: the size is known
 * and differs from `charged`; then call context_correct() to correct the charge (above the limit if
 * needed, because the driver has the memory already). Asks NVML, which takes milliseconds, if the
 * size is not known and this process has nothing else on the card.
 */
bool context_measure(struct place place, uint64_t charged);
void context_correct(struct charge *charge, struct place place);

#endif
