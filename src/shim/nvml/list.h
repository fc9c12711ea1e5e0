/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads lists of processes from NVML into mapped memory. There may be thousands of processes, and
 * this code does not use the heap. Any thread.
 */
#ifndef ALIQUOT_SHIM_NVML_LIST_H
#define ALIQUOT_SHIM_NVML_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/nvml.h"

/* An NVML function that lists processes. In: `*count` is the number of entries that fit into
 * `infos`; out: the number of entries. */
typedef nvmlReturn_t list_reader(nvmlDevice_t device, unsigned *count, void *infos);

/* Maps `bytes` of zeroed memory, to be freed with munmap(). NULL: out of memory. */
void *list_scratch(size_t bytes);

/* Whether the driver supports the list, even if the buffer was too small for it. */
bool list_is_answered(nvmlReturn_t rc);

/* Reads the driver's list into mapped memory of `*ret_bytes`, with `*ret_count` entries. NULL:
 * failed with `*ret_rc`. */
void *list_read(list_reader *read, nvmlDevice_t device, unsigned *ret_count, size_t *ret_bytes,
                nvmlReturn_t *ret_rc);

#endif
