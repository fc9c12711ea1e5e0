/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C function that the assembly calls (x86_64.S, aarch64.S).
 *
 * The assembly saves and restores every register that can carry an argument around the call, so it
 * is ordinary C; it may run before our constructor and in any thread.
 */
#ifndef ALIQUOT_INTERPOSE_BIND_H
#define ALIQUOT_INTERPOSE_BIND_H

#include "interpose/api.h"

/* The address that a thunk jumps to, at its first call. */
void *bind_entry(unsigned number);

#endif
