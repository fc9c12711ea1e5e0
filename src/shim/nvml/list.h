/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lists from NVML into memory of our own. There may be thousands of processes, and nothing
 * here is on the heap. Any thread.
 */
#ifndef ALIQUOT_SHIM_NVML_LIST_H
#define ALIQUOT_SHIM_NVML_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/nvml.h"

typedef nvmlReturn_t list_reader(nvmlDevice_t device, unsigned *count, void *infos);

/* Maps this many bytes, for munmap(); NULL if the kernel has no memory. */
void *list_scratch(size_t bytes);

/* Whether the driver has a list, even if the buffer was too small for it. */
bool list_is_answered(nvmlReturn_t rc);

/* Reads the driver's list into scratch memory, *ret_count entries. NULL: see *ret_rc. */
void *list_read(list_reader *read, nvmlDevice_t device, unsigned *ret_count, size_t *ret_bytes,
                nvmlReturn_t *ret_rc);

#endif
