/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver's functions, found as programs find them: by dlopen("libcuda.so.1"), while they run.
 * Also of tests/gpu/programs.
 */
#ifndef ALIQUOT_LOAD_LOADER_H
#define ALIQUOT_LOAD_LOADER_H

#include <stddef.h>

#include "common/error.h"

struct loader_row {
        const char *name;
        void *slot; /* of a pointer to the function */
};

/* Fills every slot, and makes the clock the driver's, where that has one (common/clock.h): once,
 * before any look at it. -ENOENT: no driver, or one that lacks a function. */
int loader_open(const struct loader_row *row, size_t count, struct error *err);

/* What the driver exports besides: a library of ours that stands before it does not know it, and
 * answers nothing. NULL: it has no such symbol. After loader_open(). */
void *loader_find(const char *symbol);

#endif
