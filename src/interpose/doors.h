/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doors: our dlopen, dlmopen, dlsym and dlvsym, which replace the C library's own when our
 * library is preloaded.
 *
 * The assembly passes each call's arguments to a door_* function, which may change them and returns
 * the address to jump to: nearly always the C library's function, with the caller's return address
 * still on the stack. A call that concerns no API only has the first letters of its name compared.
 *
 * dlopen, dlmopen: a file name of an API's library is replaced by our own, once the real library
 * was opened; if it cannot be opened, the call goes on so that it fails as without us. dlsym,
 * dlvsym: see door_dlsym(). Calls from the real libraries and from our own stay unchanged, with one
 * exception: if the real library opens another API's by name, it gets the real one.
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
