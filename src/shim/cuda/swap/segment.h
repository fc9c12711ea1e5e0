/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a segment of a block is made of: one physical allocation, mapped and open at its address.
 *
 * Each call leaves either all of it or nothing. Calls of the driver's need no context but for the
 * host's memory. Called by who makes or frees the block, or by the mover (move.h); never by both.
 */
#ifndef ALIQUOT_SHIM_CUDA_SWAP_SEGMENT_H
#define ALIQUOT_SHIM_CUDA_SWAP_SEGMENT_H

#include "abi/cuda.h"
#include "shim/cuda/state/swaps.h"

/* Has memory made for it and maps it there, closed. */
CUresult segment_map(struct swap_segment *segment, CUdevice device);
/* Takes it away again; with its bytes. */
CUresult segment_unmap(struct swap_segment *segment);
/* Opens so many bytes of mappings for kernels and copies. */
CUresult segments_open(CUdeviceptr address, uint64_t bytes, CUdevice device);

#endif
