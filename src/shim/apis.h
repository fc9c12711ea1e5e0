/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants that describe each front end to the interposer.
 */
#ifndef ALIQUOT_SHIM_APIS_H
#define ALIQUOT_SHIM_APIS_H

#include "interpose/api.h"

struct elf; /* interpose/object.h */

/* A driver that keeps a time of its own (the simulator's virtual clock) is followed from now on. */
void follow_time_of(const struct elf *elf);

/* In one line, once: a program that links or was given our libcuda.so.1, where no driver's is
 * found, is answered with a code alone. Any thread. */
void tell_no_driver(void);

#endif
