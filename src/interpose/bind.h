/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C function that the assembly (x86_64.S, aarch64.S) calls at the first call of a thunk.
 *
 * The assembly saves and restores every register that can carry an argument around this call, so
 * the function is ordinary C. It may run before our constructor, and in any thread.
 */
#ifndef ALIQUOT_INTERPOSE_BIND_H
#define ALIQUOT_INTERPOSE_BIND_H

#include "interpose/api.h"

/* Returns the address to jump to for the entry `number`, counted over all APIs. Opens the
 * real library. */
void *bind_entry(unsigned number);

#endif
