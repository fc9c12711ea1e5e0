/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a driver's functions as programs do, with dlopen("libcuda.so.1") at run time. Also for
 * tests/gpu/programs.
 */
#ifndef ALIQUOT_LOAD_LOADER_H
#define ALIQUOT_LOAD_LOADER_H

#include <stddef.h>

#include "common/error.h"

struct loader_row {
        const char *name;
        void *slot; /* of a function pointer */
};

/* Fills every slot, and makes the clock the driver's, if it has one (common/clock.h): once, before
 * any use of the clock. -ENOENT: no driver, or one that lacks a function. */
int loader_open(const struct loader_row *row, size_t count, struct error *err);

/* Finds a symbol that only the driver itself exports: in a library of ours before it, the lookup
 * would fail. NULL: no such symbol. After loader_open(). */
void *loader_find(const char *symbol);

#endif
