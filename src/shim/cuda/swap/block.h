/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swappable blocks: memory from cuMemAlloc that can leave the card, in a session that swaps
 * (PAGE_SWAPS).
 *
 * Every request of 1 MiB and more gets a reservation of addresses, divided into segments of up to
 * 64 MiB. A segment on the card has a physical allocation mapped at its addresses. So addresses
 * never change, and physical memory comes and goes while the session is held (move.h). A block is
 * charged in whole pages of 2 MiB, to the card's row and to the row of swappable memory. If making
 * a block fails, everything is undone and the program gets the driver's answer.
 *
 * Queries answer as for plain memory of cuMemAlloc (memory/told.c), and every call that frees plain
 * memory frees a block. A block ends with its context, although the driver would keep the mapping.
 * Blocks are plain memory, which stays on the card, where the driver or the device cannot map
 * memory, and while any stream is captured. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_SWAP_BLOCK_H
#define ALIQUOT_SHIM_CUDA_SWAP_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/cuda/charge/reserve.h"

/* Whether the request gets a swappable block. */
bool swap_takes(struct place place, uint64_t bytes);

/* CUDA_ERROR_NOT_SUPPORTED: the caller allocates plain memory. */
CUresult swap_alloc(CUdeviceptr *ret, struct place place, uint64_t bytes);

/* Finds the block that holds an address; false: no block does. */
struct swap_view {
        CUdeviceptr base;
        uint64_t bytes;
        uint64_t id;
        CUcontext context;
        CUdevice device;
};
bool swap_find(CUdeviceptr address, struct swap_view *ret);

/* Whether a block overlaps the range; whether a block begins at the address. */
bool swap_meets(CUdeviceptr address, uint64_t bytes);
bool swap_begins(CUdeviceptr address);

/* Free the block that begins at the address. The caller has taken its charge of the card. The first
 * waits for the device, as cuMemFree; the second frees in the order of a stream, as cuMemFreeAsync
 * (host_frees.h). */
CUresult swap_free(CUdeviceptr address);
CUresult swap_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream);

/* Pins the blocks in the range for good: a device outside of CUDA uses their physical memory. */
void swap_pin(CUdeviceptr address, uint64_t bytes);

/* The context with this number has ended: before charge_drop_owner(). */
void swap_owner_gone(uint32_t owner);

#endif
