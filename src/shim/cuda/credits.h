/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The credit of the calling thread (shim/credit.h), made and given back: the slow path's half.
 *
 * One is made at the end of a passage and returned at the beginning of the next, or at the thread's
 * end: what was spent of it is counted in its lane, what was not goes back to the bank. Only the
 * thread's own is touched. Nothing here asks the driver or fails.
 */
#ifndef ALIQUOT_SHIM_CUDA_CREDITS_H
#define ALIQUOT_SHIM_CUDA_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/admit.h"
#include "shim/cuda/launch.h"

/* Counts what was spent, gives the rest back. */
void credit_return(void);

/* What was spent counts in its lane now; what was not stays good. */
void credit_count(struct credit *credit);

/* False: who could not give back what it leaves gets nothing ahead. */
bool credit_may_be_granted(void);

/* Without a session: for ever. */
void credit_for_ever(void);

/* What passage.gate_seen is to be: the gate open, the limits as they are now. */
uint64_t credit_gate_seen(const struct limits_page *limits);

/* Without a cap and a scheduler: until something changes. */
void credit_open(const struct passage *passage, const struct admit *admit);

/* The rest of what the passage was granted; none, too: what is to come in the stream is told by
 * what was. */
void credit_grant(const struct passage *passage);

#endif
