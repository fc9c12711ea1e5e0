/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the virtual memory hooks that other hooks use.
 *
 * A sparse array keeps alive the memory from cuMemCreate that is mapped into it, so the hooks that
 * map such memory or destroy an array report it here. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_VMM_H
#define ALIQUOT_SHIM_CUDA_MEMORY_VMM_H

#include <stdint.h>

#include "abi/cuda.h"

/* State of a call that maps memory into sparse arrays. gen-api makes the hooks from tiles_begin()
 * and tiles_end(), as cuda.api says. */
struct tiles {
        const CUarrayMapInfo *maps;
        unsigned count;
};

struct tiles tiles_begin(const CUarrayMapInfo *maps, unsigned count);
CUresult tiles_end(const struct tiles *tiles, CUresult rc);

/* Releases the memory mapped into the destroyed array or mipmapped array with this handle. */
void vmm_array_gone(uint64_t array);

#endif
