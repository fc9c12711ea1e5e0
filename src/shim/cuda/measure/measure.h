/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how many bytes an allocation takes, from the program's request. Pure: makes no call.
 *
 * A measure is either exact (what the driver will take) or an upper bound, which the hook lowers
 * once the driver has reported the size. All products saturate: a request that overflows measures
 * UINT64_MAX, which no limit grants. A request that the driver will surely refuse (no size)
 * measures 0.
 *
 * Sources: drivers 470 to 580 use this pitch and array formula on all cards since Maxwell; where
 * the driver can be asked afterwards, its answer replaces the formula.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_H
#define ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* Rows of cuMemAllocPitch begin at a multiple of this. */
#define MEASURE_PITCH_BYTES 512u

/* Block size of the virtual memory interface, and of graph memory, which uses it. */
#define MEASURE_PAGE_BYTES (UINT64_C(2) << 20)

/* Pools grow by multiples of this. */
#define MEASURE_POOL_BYTES (UINT64_C(32) << 20)

/* `bytes` rounded up to a multiple of `grain` (a power of two), or UINT64_MAX. */
uint64_t measure_round(uint64_t bytes, uint64_t grain);

/* What cuMemAllocPitch will take if the driver pitches as expected. */
uint64_t measure_pitch(uint64_t width_bytes, uint64_t height);

/* Bytes of one element with all channels; of block formats, of one 4 x 4 block. 0: unknown. */
struct measure_texel {
        unsigned bytes;
        unsigned side;   /* 1, or 4 for block formats */
        unsigned halves; /* size in halves of the first plane: 2 = that plane alone, 3 = 4:2:0 */
};
struct measure_texel measure_texel(CUarray_format format, unsigned channels);

/* An array of any shape (2D: depth 0). 0 when it owns no memory: sparse, or mapped later. */
uint64_t measure_array(const CUDA_ARRAY3D_DESCRIPTOR *shape);

/* The same by the other descriptors: in two dimensions, and of the first interface. */
uint64_t measure_array_2d(const CUDA_ARRAY_DESCRIPTOR *shape);
uint64_t measure_array_2d_v1(const CUDA_ARRAY_DESCRIPTOR_v1 *shape);
uint64_t measure_array_v1(const CUDA_ARRAY3D_DESCRIPTOR_v1 *shape);

/* All levels of a mipmapped array. */
uint64_t measure_mipmap(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels);

/* The most that a pool grows by to serve `bytes`. */
uint64_t measure_pool_growth(uint64_t bytes);

/* The memory behind one memory node of a graph. */
uint64_t measure_graph_node(uint64_t bytes);

/* Bytes that a device of this compute capability (90 for 9.0; 0: unknown) loads of a module image:
 * text, ELF (with its zeroed memory, measure_elf.h), or of a fat binary or its wrapper one part
 * (measure_fatbin.h). 0: unknown, the driver decides. */
uint64_t measure_image(const void *image, unsigned capability);

/* The same for an image that was read from a file of `bytes`. */
uint64_t measure_file(const void *image, uint64_t bytes, unsigned capability);

/* Estimate of a context's memory on a GPU, by the model's name, at most a 64th of the card;
 * corrected if NVML can measure it. See docs/memory.md. */
uint64_t measure_context(const char *model, uint64_t card_bytes);

#endif
