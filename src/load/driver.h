/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the driver at run time: the program is built without a driver, and finds the same one as
 * other programs on the machine.
 *
 * driver.c defines the functions of abi/cuda.h that this program uses, and forwards the calls to
 * the driver.
 */
#ifndef ALIQUOT_LOAD_DRIVER_H
#define ALIQUOT_LOAD_DRIVER_H

#include <stdint.h>

#include "abi/cuda.h"
#include "common/error.h"

/* Opens the driver. Call it once, before any other call. Afterwards the clock (common/clock.h) is
 * the driver's, if the driver has one. -ENOENT: there is no driver, or it lacks a function. */
int driver_open(struct error *err);

/* A function of the simulator that returns the GPU time of this process on a card, in ns.
 * driver_find_busy() returns it; NULL: the driver is not the simulator. */
typedef uint64_t driver_busy(const unsigned char uuid[16]);
driver_busy *driver_find_busy(void);

/* Returns 0 if `result` is CUDA_SUCCESS, else an error whose message names the call and its
 * result. */
int driver_check(CUresult result, const char *call, struct error *err);

#endif
