/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a driver's functions as programs do, with dlopen("libcuda.so.1") at run time. The programs
 * of src/load and of tests/gpu/programs use it.
 */
#ifndef ALIQUOT_LOAD_LOADER_H
#define ALIQUOT_LOAD_LOADER_H

#include <stddef.h>

#include "common/error.h"

/* A function to find, and where to store its address. */
struct loader_row {
        const char *name;
        void *slot; /* address of a function pointer, which loader_open() sets */
};

/* Opens the driver and fills every slot. Then makes the clock (common/clock.h) the driver's, if the
 * driver has one; so call it once, before any use of the clock. -ENOENT: there is no driver, or it
 * lacks a function. */
int loader_open(const struct loader_row *row, size_t count, struct error *err);

/* Finds a symbol that only the driver itself exports, even if a library of ours is loaded under the
 * driver's name. NULL: there is no such symbol. Call it after loader_open(). */
void *loader_find(const char *symbol);

#endif
