/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists that NVML fills in, read into memory of our own: there may be thousands of processes, and
 * nothing here is on the heap. Any thread.
 */
#ifndef ALIQUOT_SHIM_NVML_LIST_H
#define ALIQUOT_SHIM_NVML_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/nvml.h"

typedef nvmlReturn_t list_reader(nvmlDevice_t device, unsigned *count, void *infos);

/* So many bytes, for munmap(); NULL when the kernel has none. */
void *list_scratch(size_t bytes);

/* The driver has a list, whether or not there was room for it. */
bool list_is_answered(nvmlReturn_t rc);

/* What the driver lists, in scratch memory; *ret_count entries. NULL: see *ret_rc. */
void *list_read(list_reader *read, nvmlDevice_t device, unsigned *ret_count, size_t *ret_bytes,
                nvmlReturn_t *ret_rc);

#endif
