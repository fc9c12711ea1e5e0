/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out how much memory a context takes of its card.
 *
 * It is an estimate by model until NVML was asked, once for each session and card, about a process
 * with one context and nothing else. Until then the session's processes make contexts on the card
 * one at a time (a *turn* among them). So at most one context is charged by the estimate, and later
 * ones are charged the measured size. A process that has the turn and makes no context is waited
 * for at most 5 s.
 *
 * If NVML did not answer, processes no longer wait for each other, and contexts are charged by the
 * estimate until a later one can be measured. A session made with context=free charges nothing. Any
 * thread; the measured size is in the session's page.
 */
#ifndef ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_SIZE_H
#define ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_SIZE_H

#include "shim/cuda/place/front.h"
#include "shim/turn.h"

/* Before a context is made, and before its size is asked for; turn_drop() when it was measured or
 * came to nothing. */
void *context_turn_take(struct place place);

/* The charge for a context here. */
uint64_t context_bytes(struct place place);

/*
 * A context was made and charged `charged`. True: the size is now known, and differs: call
 * context_correct() to correct the charge (above the limit if needed, because the driver has the
 * memory). Asks NVML, which takes milliseconds, if it was not asked yet and this process has
 * nothing else on the card.
 */
bool context_measure(struct place place, uint64_t charged);
void context_correct(struct charge *charge, struct place place);

#endif
