/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory in place of card memory: implements oversubscription.
 *
 * In a session with a row for host memory (PAGE_HOST_NAME), an allocation of cuMemAlloc that has no
 * room on the card, by the limit or by the driver, gets pinned host memory that is mapped for the
 * devices (cuMemHostAlloc with CU_MEMHOSTALLOC_DEVICEMAP). Its address is the same for both sides,
 * as the manual says of unified addressing, so kernels and copies use it over the link. It stays in
 * the host until it is freed. Arrays, pools, mappings and managed memory cannot use it.
 *
 * The program sees it as device memory. What the driver cannot do with it, the driver refuses
 * (cuIpcGetMemHandle: CUDA_ERROR_INVALID_VALUE).
 *
 * It is charged to the session's row of host memory. If the machine cannot spare the memory
 * (common/host_memory.h), it is not pinned, and the program gets out-of-memory. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_SPILL_H
#define ALIQUOT_SHIM_CUDA_MEMORY_SPILL_H

#include <stdbool.h>

#include "shim/cuda/charge/reserve.h"

/* A grant on the card, or CUDA_ERROR_OUT_OF_MEMORY: then spill() may have another answer. A refusal
 * is counted only where it has none. */
CUresult spill_reserve(struct charge *ret, struct place place, uint64_t bytes);

/* `rc` is the card's result; anything but out-of-memory is returned unchanged. `ret` may be
 * NULL. */
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
