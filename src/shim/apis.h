/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants that describe each front end to the interposer.
 */
#ifndef ALIQUOT_SHIM_APIS_H
#define ALIQUOT_SHIM_APIS_H

#include "interpose/api.h"

struct elf; /* interpose/object.h */

/* From now on follows the clock of a driver that keeps its own time (the simulator's virtual
 * clock). */
void follow_time_of(const struct elf *elf);

/* Says in one line, once, that the program loaded our libcuda.so.1 but no driver's was found; the
 * program itself sees only an error code. Any thread. */
void tell_no_driver(void);

#endif
