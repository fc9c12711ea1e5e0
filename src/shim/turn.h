/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets one process of a session at a time do something, by a lock that the kernel keeps as long as
 * the holder's address space exists (store/liveness.h). So no process waits for a dead one.
 *
 * Threads of one process exclude each other too. Never nested. Any thread may call; errno is kept;
 * there is no cancellation point.
 */
#ifndef ALIQUOT_SHIM_TURN_H
#define ALIQUOT_SHIM_TURN_H

#include <stdbool.h>
#include <stdint.h>

/* Tries once to lock this byte of the slots file, without waiting. True: go on, and give
 * *ret_turn to turn_drop(); it is NULL if no lock is possible (no slot, no descriptor). False:
 * another thread or process has the lock. */
bool turn_try(uint64_t byte, void **ret_turn);

/* Ends the turn. NULL does nothing. */
void turn_drop(void *turn);

#endif
