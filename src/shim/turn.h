/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one process of a session does at a time: the kernel keeps the turn for as long as its
 * taker's address space lives (store/liveness.h), so nobody waits for the dead.
 *
 * Threads of one process exclude each other too. Never taken around another turn. Any thread; keeps
 * errno; no cancellation point.
 */
#ifndef ALIQUOT_SHIM_TURN_H
#define ALIQUOT_SHIM_TURN_H

#include <stdbool.h>
#include <stdint.h>

/* One look, no waiting. True: there is nothing to wait for: *ret_turn is what turn_drop() wants, or
 * NULL when the turn cannot be had at all (no slot, no descriptor). False: somebody has it. */
bool turn_try(uint64_t byte, void **ret_turn);

/* Ends the turn; NULL does nothing. */
void turn_drop(void *turn);

#endif
