/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the assembly calls (x86_64.S and its like).
 *
 * The assembly saves and restores every register that can carry an argument around these calls, so
 * they are ordinary C; they may run before our constructor and in any thread.
 */
#ifndef ALIQUOT_INTERPOSE_BIND_H
#define ALIQUOT_INTERPOSE_BIND_H

#include "interpose/api.h"

/* The address that a thunk called for the first time is to jump to. */
void *bind_entry(unsigned number);

#endif
