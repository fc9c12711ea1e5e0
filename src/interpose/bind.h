/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the assembly calls (x86_64.S and its like), and the word that gate thunks test.
 *
 * The assembly saves and restores every register that can carry an argument around these calls, so
 * they are ordinary C; they may run before our constructor and in any thread.
 */
#ifndef ALIQUOT_INTERPOSE_BIND_H
#define ALIQUOT_INTERPOSE_BIND_H

#include "interpose/api.h"

/* The address that a thunk called for the first time is to jump to. */
void *bind_entry(unsigned number);

/* Where a thunk jumps now: the driver's function, or its first-call stub. */
void *bind_target(unsigned number);

/* The gate is shut: waits until it is not, then says where to jump. `number` as above. */
void *gate_enter(unsigned number);

/* What gate thunks test: 0 lets pass. Never NULL; at first a word that is always 0. */
extern const uint32_t *gate_word;

#endif
