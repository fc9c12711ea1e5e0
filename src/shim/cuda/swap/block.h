/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that can leave the card: what cuMemAlloc gives in a session that swaps (PAGE_SWAPS).
 *
 * A block of 1 MiB and more is a reservation of addresses, in segments of up to 64 MiB, each with a
 * physical allocation mapped there while it is on the card. So its addresses never change; what is
 * behind them comes and goes while the session is held (move.h). It is charged in whole pages of 2
 * MiB, to the card and to the row of what can leave it. Whatever fails while it is made is undone,
 * and the program is told the driver's answer.
 *
 * The program is told what it would be told of cuMemAlloc's memory (memory/told.c), and may free it
 * in every way that frees such memory. A block goes with its context, though the driver would keep
 * what is mapped. Where the driver or the device cannot map memory, and while anything is captured,
 * blocks are plain ones and stay on the card. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_SWAP_BLOCK_H
#define ALIQUOT_SHIM_CUDA_SWAP_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/cuda/charge/reserve.h"

/* Whether such a request is to have one. */
bool swap_takes(struct place place, uint64_t bytes);

/* CUDA_ERROR_NOT_SUPPORTED: it is to be served as a plain one. */
CUresult swap_alloc(CUdeviceptr *ret, struct place place, uint64_t bytes);

/* The block that an address lies in; false: it lies in none. */
struct swap_view {
        CUdeviceptr base;
        uint64_t bytes;
        uint64_t id;
        CUcontext context;
        CUdevice device;
};
bool swap_find(CUdeviceptr address, struct swap_view *ret);

/* Whether some block reaches into the range; and whether one begins at the address. */
bool swap_meets(CUdeviceptr address, uint64_t bytes);
bool swap_begins(CUdeviceptr address);

/* Free the block that begins there, whose charge of the card the caller has taken: after a wait, as
 * cuMemFree; in the order of a stream, as cuMemFreeAsync (host_frees.h). */
CUresult swap_free(CUdeviceptr address);
CUresult swap_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream);

/* Somebody outside of CUDA knows where the range is from now on: its blocks stay there for good. */
void swap_pin(CUdeviceptr address, uint64_t bytes);

/* The context with this number has ended: before charge_drop_owner(). */
void swap_owner_gone(uint32_t owner);

#endif
