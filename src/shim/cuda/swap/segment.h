/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps and unmaps one segment of a swappable block, that is, a physical allocation at the segment's
 * address.
 *
 * Each function either succeeds completely or changes nothing. None needs a current context. The
 * caller is the thread that creates or frees the block, or the mover (move.h), never both at once.
 */
#ifndef ALIQUOT_SHIM_CUDA_SWAP_SEGMENT_H
#define ALIQUOT_SHIM_CUDA_SWAP_SEGMENT_H

#include "abi/cuda.h"
#include "shim/cuda/state/swaps.h"

/* Creates a physical allocation and maps it. Kernels and copies cannot access it before
 * segments_open(). */
CUresult segment_map(struct swap_segment *segment, CUdevice device);
/* Unmaps the segment and releases its allocation. The bytes are lost. */
CUresult segment_unmap(struct swap_segment *segment);
/* Lets kernels and copies access the mappings in a range. */
CUresult segments_open(CUdeviceptr address, uint64_t bytes, CUdevice device);

#endif
