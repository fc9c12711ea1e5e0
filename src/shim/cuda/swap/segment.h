/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps and unmaps one segment of a swappable block: a physical allocation at the segment's address.
 *
 * Each function does all of its work or nothing. None needs a current context. Callers are the
 * thread that makes or frees the block, and the mover (move.h); never both at once.
 */
#ifndef ALIQUOT_SHIM_CUDA_SWAP_SEGMENT_H
#define ALIQUOT_SHIM_CUDA_SWAP_SEGMENT_H

#include "abi/cuda.h"
#include "shim/cuda/state/swaps.h"

/* Makes a physical allocation and maps it. Kernels and copies cannot use it yet. */
CUresult segment_map(struct swap_segment *segment, CUdevice device);
/* Unmaps and releases the allocation. Its bytes are lost. */
CUresult segment_unmap(struct swap_segment *segment);
/* Lets kernels and copies use the mappings in a range. */
CUresult segments_open(CUdeviceptr address, uint64_t bytes, CUdevice device);

#endif
