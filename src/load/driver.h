/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver, opened while the program runs: it is built without any, and finds what programs find.
 *
 * The functions of abi/cuda.h that are used here are defined in driver.c, for this program alone,
 * and lead on.
 */
#ifndef ALIQUOT_LOAD_DRIVER_H
#define ALIQUOT_LOAD_DRIVER_H

#include <stdint.h>

#include "abi/cuda.h"
#include "common/error.h"

/* Once, before any call; then the clock is the driver's, where that has one (common/clock.h).
 * -ENOENT: no driver, or one that lacks a function. */
int driver_open(struct error *err);

/* GPU time of this process on the card, as the simulated driver's engine knows it; NULL: another
 * driver. */
typedef uint64_t driver_busy(const unsigned char uuid[16]);
driver_busy *driver_find_busy(void);

/* 0, or an error that says which call answered what. */
int driver_check(CUresult result, const char *call, struct error *err);

#endif
