/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses host memory in place of card memory, for sessions that are oversubscribed.
 *
 * This applies in a session with a row for host memory (PAGE_HOST_NAME). If an allocation by
 * cuMemAlloc has no room on the card, because of the limit or the driver, it gets pinned host
 * memory that is mapped for the devices (cuMemHostAlloc with CU_MEMHOSTALLOC_DEVICEMAP). The memory
 * has the same address for the host and the devices (CUDA manual, unified addressing), so kernels
 * and copies access it over the link. It stays in the host until it is freed. Arrays, pools,
 * mappings and managed memory do not use it.
 *
 * To the program it looks like device memory. Calls that the driver does not support for it are
 * refused by the driver (cuIpcGetMemHandle: CUDA_ERROR_INVALID_VALUE).
 *
 * It is charged to the session's row of host memory. If the machine cannot spare the memory
 * (common/host_memory.h), nothing is pinned, and the program gets out-of-memory. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_SPILL_H
#define ALIQUOT_SHIM_CUDA_MEMORY_SPILL_H

#include <stdbool.h>

#include "shim/cuda/charge/reserve.h"

/* Reserves memory on the card. After CUDA_ERROR_OUT_OF_MEMORY, spill() may get host memory instead.
 * The refusal is counted here only if the session has no host memory. */
CUresult spill_reserve(struct charge *ret, struct place place, uint64_t bytes);

/* Allocates host memory if the allocation on the card ended with out-of-memory. `rc` is the result
 * on the card; any other result is returned unchanged. `ret` may be NULL. */
CUresult spill(CUresult rc, CUdeviceptr *ret, struct place place, uint64_t bytes);

/* spill_is(): whether the charge of a block shows that the block is host memory. spill_free():
 * frees such a block, whose charge was taken out of the table, and waits as cuMemFree does. */
static inline bool spill_is(const struct charge *taken)
{
        return taken->device >= 0 && taken->device == charge_host();
}
CUresult spill_free(CUdeviceptr address);
/* Frees a block in stream order, as cuMemFreeAsync does: returns at once, and keeps the charge
 * until the block is unpinned (host_frees.h). Refused in a stream that is captured. */
CUresult spill_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream);

/* Finds the block of host memory that contains an address. False: none of ours does. */
bool spill_find(CUdeviceptr address, CUdeviceptr *ret_base, uint64_t *ret_bytes);

#endif
