/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the driver at run time: the program is built without one, and finds the one that other
 * programs find.
 *
 * driver.c defines the functions of abi/cuda.h that this program uses, and forwards them.
 */
#ifndef ALIQUOT_LOAD_DRIVER_H
#define ALIQUOT_LOAD_DRIVER_H

#include <stdint.h>

#include "abi/cuda.h"
#include "common/error.h"

/* Call it once, before any other call; then the clock is the driver's, if it has one
 * (common/clock.h). -ENOENT: no driver, or one that lacks a function. */
int driver_open(struct error *err);

/* GPU time of this process on the card in ns, by the simulated engine; NULL: not simulated. */
typedef uint64_t driver_busy(const unsigned char uuid[16]);
driver_busy *driver_find_busy(void);

/* Returns 0, or an error that names the call and its result. */
int driver_check(CUresult result, const char *call, struct error *err);

#endif
