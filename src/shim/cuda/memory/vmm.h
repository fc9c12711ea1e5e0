/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the virtual memory hooks report to other hooks.
 *
 * A sparse array holds memory from cuMemCreate, so a hook that destroys an array reports it here.
 * Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_VMM_H
#define ALIQUOT_SHIM_CUDA_MEMORY_VMM_H

#include <stdint.h>

#include "abi/cuda.h"

/* Around a call that maps memory into sparse arrays: what cuda.api makes its hooks of. */
struct tiles {
        const CUarrayMapInfo *maps;
        unsigned count;
};

struct tiles tiles_begin(const CUarrayMapInfo *maps, unsigned count);
CUresult tiles_end(const struct tiles *tiles, CUresult rc);

/* The array or mipmapped array with this handle was destroyed. */
void vmm_array_gone(uint64_t array);

#endif
