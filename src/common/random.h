/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpredictable bytes from the kernel; works before any file can be opened.
 */
#ifndef ALIQUOT_COMMON_RANDOM_H
#define ALIQUOT_COMMON_RANDOM_H

#include <stddef.h>

#include "common/error.h"

int random_fill(void *ret, size_t bytes, struct error *err);

#endif
