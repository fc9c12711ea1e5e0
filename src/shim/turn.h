/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets one process of a session at a time do something, by a lock that the kernel keeps as long as
 * the holder's address space lives (store/liveness.h). So no process waits for a dead one.
 *
 * Threads of one process exclude each other too. Never nested. Any thread; keeps errno; no
 * cancellation point.
 */
#ifndef ALIQUOT_SHIM_TURN_H
#define ALIQUOT_SHIM_TURN_H

#include <stdbool.h>
#include <stdint.h>

/* One try, no waiting. True: go on; give *ret_turn to turn_drop(). It is NULL if the lock cannot be
 * had at all (no slot, no descriptor). False: another thread or process has it. */
bool turn_try(uint64_t byte, void **ret_turn);

/* Ends it; NULL does nothing. */
void turn_drop(void *turn);

#endif
