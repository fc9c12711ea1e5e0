/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doors: our dlopen, dlmopen, dlsym and dlvsym, which a preloaded library puts before the C
 * library's own.
 *
 * The assembly hands each call's arguments to a door_* function, which may change them and says
 * where to jump: nearly always to the C library's function, with the caller's return address still
 * on the stack. A call that has nothing to do with an API costs a look at its first letters.
 *
 * dlopen, dlmopen: a file name that means one of our libraries becomes our own, once the real
 * library was opened; if that cannot be, the call goes on so that it fails as it would have.
 * dlsym, dlvsym: see door_dlsym().
 * Calls from the real libraries and from us are not ours to change, but for one thing: the real
 * library asks for the other one by name, and gets the real one.
 */
#ifndef ALIQUOT_INTERPOSE_DOORS_H
#define ALIQUOT_INTERPOSE_DOORS_H

#include <stdint.h>

/* The registers of a call, laid out by the assembly. */
struct door_call {
        uintptr_t argument[4];
        const void *caller;
};

void *door_dlopen(struct door_call *call);
void *door_dlmopen(struct door_call *call);
void *door_dlsym(struct door_call *call);
void *door_dlvsym(struct door_call *call);

#endif
