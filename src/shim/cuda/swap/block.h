/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swappable blocks: memory from cuMemAlloc that can be moved off the card, in a session that swaps
 * (PAGE_SWAPS).
 *
 * Every request of 1 MiB or more gets a reserved address range, divided into segments of up to 64
 * MiB. A segment that is on the card has a physical allocation mapped at its addresses. So
 * addresses never change, while physical memory is released and allocated again when the session is
 * held (move.h). A block is charged in whole pages of 2 MiB, to the card's row and to the row of
 * swappable memory. If a step of creating a block fails, all steps are undone, and the program gets
 * the driver's error.
 *
 * For queries, a block looks like plain memory from cuMemAlloc (memory/told.c). Every call that
 * frees plain memory frees a block too. A block ends with its context, although the driver would
 * keep the mapping. Requests get plain memory, which stays on the card, if the driver or the device
 * cannot map memory, and while any stream is captured. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_SWAP_BLOCK_H
#define ALIQUOT_SHIM_CUDA_SWAP_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/cuda/charge/reserve.h"

/* Whether a request of `bytes` on `place` gets a swappable block. */
bool swap_takes(struct place place, uint64_t bytes);

/* Allocates a block and returns its address in `ret`. CUDA_ERROR_NOT_SUPPORTED: the caller must
 * allocate plain memory instead. */
CUresult swap_alloc(CUdeviceptr *ret, struct place place, uint64_t bytes);

/* Finds the block that contains an address. False: no block does. */
struct swap_view {
        CUdeviceptr base;
        uint64_t bytes;
        uint64_t id;
        CUcontext context;
        CUdevice device;
};
bool swap_find(CUdeviceptr address, struct swap_view *ret);

/* swap_meets(): whether a block overlaps the range. swap_begins(): whether a block begins at the
 * address. */
bool swap_meets(CUdeviceptr address, uint64_t bytes);
bool swap_begins(CUdeviceptr address);

/* Free the block that begins at `address`. The caller has taken the block's charge on the card's
 * row. swap_free() waits for the device, as cuMemFree does. swap_free_in_order() frees in the order
 * of `stream`, as cuMemFreeAsync does (host_frees.h). */
CUresult swap_free(CUdeviceptr address);
CUresult swap_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream);

/* Keeps the blocks in the range on the card for good, because a device outside of CUDA uses their
 * physical memory. */
void swap_pin(CUdeviceptr address, uint64_t bytes);

/* Frees the blocks of the destroyed context with this number. Call before charge_drop_owner(). */
void swap_owner_gone(uint32_t owner);

#endif
