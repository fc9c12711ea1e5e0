/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how much memory of a card the driver takes for a block: a part of a slab that small blocks
 * share, or whole pages. Without grants=real it is exactly the requested size.
 *
 * It only counts; the arena decides where a block's bytes are.
 */
#ifndef ALIQUOT_SIM_MEMORY_SLAB_H
#define ALIQUOT_SIM_MEMORY_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/node.h"

struct slab;

/* What a block was counted in. */
struct slab_place {
        struct slab *slab; /* NULL: counted alone, in no slab */
        uint32_t first;    /* first grain (of GRAIN_BYTES) within the slab */
};

/* Counts a block of a context. False: the device is full. A slab has blocks of one context and one
 * family only. */
bool slab_grant(CUcontext context, enum family family, uint64_t bytes, struct slab_place *ret);

/* Returns what slab_grant() counted. A slab is returned with its last block. */
void slab_release(CUcontext context, enum family family, uint64_t bytes,
                  const struct slab_place *place);

/* Returns the size with which a block counts alone; 0 if it is in a slab. */
uint64_t slab_alone_bytes(uint64_t bytes, const struct slab_place *place);

#endif
