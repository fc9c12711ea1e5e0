/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doors: our dlopen, dlmopen, dlsym and dlvsym, which replace those of the C library when our
 * library is preloaded.
 *
 * The assembly passes the arguments of each call to a door_* function. That function may change the
 * arguments, and returns the address to jump to: nearly always the C library's function, which
 * finds the caller's return address unchanged. A call for a name of no API costs only a comparison
 * of the name's first letters.
 *
 * door_dlopen(), door_dlmopen(): a file name of an API's library is replaced by our library, after
 * the real library was opened. If that fails, the arguments stay, so that the call fails as without
 * us. door_dlsym(), door_dlvsym(): a lookup of an API's function finds our function, or what it
 * would find without Aliquot.
 *
 * Calls from our library stay unchanged. So do calls from the real libraries, with one exception: a
 * real library that opens another API's library by name gets the real one.
 */
#ifndef ALIQUOT_INTERPOSE_DOORS_H
#define ALIQUOT_INTERPOSE_DOORS_H

#include <stdint.h>

/* The argument registers of a call and its return address, in the assembly's order. */
struct door_call {
        uintptr_t argument[4];
        const void *caller;
};

void *door_dlopen(struct door_call *call);
void *door_dlmopen(struct door_call *call);
void *door_dlsym(struct door_call *call);
void *door_dlvsym(struct door_call *call);

#endif
