/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the host in place of the card's: what oversubscription is made of.
 *
 * A session with a row for the host's memory (PAGE_HOST_NAME) gets there what cuMemAlloc has no
 * room for on the card, be it the limit's or the driver's: pinned memory that is mapped for the
 * devices (cuMemHostAlloc with CU_MEMHOSTALLOC_DEVICEMAP). Its address is the same for both sides,
 * as the manual says of unified addressing, so kernels and copies use it as it is, over the link;
 * it stays there until it is freed. Arrays, pools, mappings and managed memory have no such way.
 *
 * The program is told that it is memory of the device. What the driver cannot do with it, it
 * refuses by itself (cuIpcGetMemHandle: CUDA_ERROR_INVALID_VALUE).
 *
 * It is charged to the session's row of the host, and nothing is pinned that the machine cannot
 * spare (common/host_memory.h): then the program hears out-of-memory. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_SPILL_H
#define ALIQUOT_SHIM_CUDA_MEMORY_SPILL_H

#include <stdbool.h>

#include "shim/cuda/charge/reserve.h"

/* A grant on the card, or CUDA_ERROR_OUT_OF_MEMORY: then spill() may have another answer. A refusal
 * is counted only where it has none. */
CUresult spill_reserve(struct charge *ret, struct place place, uint64_t bytes);

/* `rc` is what the card answered; whatever is not out-of-memory stands. `ret` may be NULL. */
CUresult spill(CUresult rc, CUdeviceptr *ret, struct place place, uint64_t bytes);

/* Frees a block that was taken out of the table, as the driver's cuMemFree would. */
static inline bool spill_is(const struct charge *taken)
{
        return taken->device >= 0 && taken->device == charge_host();
}
CUresult spill_free(CUdeviceptr address);
/* As cuMemFreeAsync: returns at once, and keeps the charge until the block is unpinned
 * (host_frees.h). Not in a capture. */
CUresult spill_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream);

/* The block that an address lies in; false: it lies in none of ours. */
bool spill_find(CUdeviceptr address, CUdeviceptr *ret_base, uint64_t *ret_bytes);

#endif
