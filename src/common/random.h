/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets unpredictable bytes from the kernel (getrandom(2)); works before any file can be opened.
 */
#ifndef ALIQUOT_COMMON_RANDOM_H
#define ALIQUOT_COMMON_RANDOM_H

#include <stddef.h>

#include "common/error.h"

/* Fills `bytes` bytes at `ret`; waits until the kernel's generator is ready. */
int random_fill(void *ret, size_t bytes, struct error *err);

#endif
