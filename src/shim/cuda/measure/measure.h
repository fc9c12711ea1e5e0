/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how many bytes an allocation takes, from the program's request. Pure: makes no call.
 *
 * A result is either exact (what the driver will take) or an upper bound, which the hook lowers
 * once the driver has reported the size. All products saturate: for a request that overflows, the
 * result is UINT64_MAX, which no limit grants. For a request that the driver will surely refuse
 * (size 0), the result is 0.
 *
 * Sources: drivers 470 to 580 use these formulas for pitch and arrays on all cards since Maxwell.
 * Where the driver can be asked after the allocation, its answer replaces the result.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_H
#define ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* Rows of cuMemAllocPitch begin at multiples of this many bytes. */
#define MEASURE_PITCH_BYTES 512u

/* Block size of the virtual memory interface; also of graph memory, which uses that interface. */
#define MEASURE_PAGE_BYTES (UINT64_C(2) << 20)

/* Pools grow by multiples of this many bytes. */
#define MEASURE_POOL_BYTES (UINT64_C(32) << 20)

/* Returns `bytes` rounded up to a multiple of `grain` (a power of two), or UINT64_MAX on
 * overflow. */
uint64_t measure_round(uint64_t bytes, uint64_t grain);

/* Returns what cuMemAllocPitch will take if the driver uses the expected pitch. */
uint64_t measure_pitch(uint64_t width_bytes, uint64_t height);

/* A texel is one element of an array. Block formats store blocks of 4 x 4 texels. */
struct measure_texel {
        /* Bytes of one texel with all channels, or of one block. */
        unsigned bytes;
        unsigned side; /* side of a block in texels: 4 for block formats, else 1 */
        /* Size of all planes, in halves of the first plane's size: 2 = that plane alone, 3 =
         * 4:2:0. */
        unsigned halves;
};
struct measure_texel measure_texel(CUarray_format format, unsigned channels);

/* Returns the size of an array of any shape (depth 0 if two-dimensional). 0 if the array owns no
 * memory because it is sparse or mapped later. */
uint64_t measure_array(const CUDA_ARRAY3D_DESCRIPTOR *shape);

/* As measure_array(), for the other descriptors: two-dimensional ones, and those of the first
 * version of the interface. */
uint64_t measure_array_2d(const CUDA_ARRAY_DESCRIPTOR *shape);
uint64_t measure_array_2d_v1(const CUDA_ARRAY_DESCRIPTOR_v1 *shape);
uint64_t measure_array_v1(const CUDA_ARRAY3D_DESCRIPTOR_v1 *shape);

/* Returns the size of all levels of a mipmapped array. */
uint64_t measure_mipmap(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels);

/* Returns the maximum by which a pool grows to serve `bytes`. */
uint64_t measure_pool_growth(uint64_t bytes);

/* Returns the memory that one allocation node of a graph takes. */
uint64_t measure_graph_node(uint64_t bytes);

/* Returns how many bytes of a module image a device of this compute capability (90 for 9.0; 0:
 * unknown) loads. The image is text; an ELF file, which counts with its zero-initialised memory
 * (measure_elf.h); or a fat binary or its wrapper, of which one part is loaded (measure_fatbin.h).
 * 0: unknown, so the driver decides. */
uint64_t measure_image(const void *image, unsigned capability);

/* As measure_image(), for an image of `bytes` that was read from a file. */
uint64_t measure_file(const void *image, uint64_t bytes, unsigned capability);

/* Returns an estimate of the memory of a context on a GPU of this model, at most a 64th of the
 * card. It is corrected if NVML can measure the context (docs/memory.md). */
uint64_t measure_context(const char *model, uint64_t card_bytes);

#endif
