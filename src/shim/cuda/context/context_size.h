/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a context takes of its card.
 *
 * An estimate by model, until NVML was asked, once a session and card, what a process with one
 * context and nothing else holds there. While that is not known, contexts of the session are made
 * on the card one at a time (a *turn* among its processes): so never more than one is charged by
 * an estimate, and whoever comes later is charged what the first one was measured to take. Who has
 * the turn and does nothing is waited for at most 5 s.
 *
 * Where NVML did not tell, nobody waits for another any more, and an estimate is what is charged,
 * until some later context can be measured. A session made with context=free charges nothing.
 * Any thread; what was measured lies in the session's page.
 */
#ifndef ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_SIZE_H
#define ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_SIZE_H

#include "shim/cuda/place/front.h"
#include "shim/turn.h"

/* Before a context is made, and before its size is asked for; turn_drop() when it was measured or
 * came to nothing. */
void *context_turn_take(struct place place);

/* What is to be charged for a context here. */
uint64_t context_bytes(struct place place);

/*
 * A context was made, and `charged` for it. True: it is now known what one takes, and it is not
 * that: context_correct() makes the charge so (above the limit if need be: the driver has it).
 * Asks NVML, which takes milliseconds, if nobody was told yet and this process has nothing else on
 * the card.
 */
bool context_measure(struct place place, uint64_t charged);
void context_correct(struct charge *charge, struct place place);

#endif
