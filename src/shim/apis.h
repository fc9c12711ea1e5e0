/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a front end (shim/cuda, shim/nvml) gives to the interposer (interpose/api.h).
 */
#ifndef ALIQUOT_SHIM_APIS_H
#define ALIQUOT_SHIM_APIS_H

#include "interpose/api.h"

struct elf; /* interpose/object.h */

/* Makes clock.h follow the clock of a driver that keeps its own time (the simulator's virtual
 * clock), if the driver in `elf` has one. */
void follow_time_of(const struct elf *elf);

/* Writes one line, once, that the program loaded our libcuda.so.1 but that no driver was found
 * behind it. The program itself sees only an error code. Any thread may call. */
void tell_no_driver(void);

#endif
