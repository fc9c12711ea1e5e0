/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how much of a card the driver takes for a block: a part of a slab that small blocks share,
 * or whole pages. Without grants=real it is exactly the requested size.
 *
 * It only counts: the arena places a block's bytes.
 */
#ifndef ALIQUOT_SIM_MEMORY_SLAB_H
#define ALIQUOT_SIM_MEMORY_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/node.h"

struct slab;

/* Where a block was counted. */
struct slab_place {
        struct slab *slab; /* NULL: by itself */
        uint32_t first;    /* grain in the slab */
};

/* Counts a block of a context; false: the device is full. A slab serves one context and family. */
bool slab_grant(CUcontext context, enum family family, uint64_t bytes, struct slab_place *ret);

/* Returns what slab_grant() counted; a slab ends with its last block. */
void slab_release(CUcontext context, enum family family, uint64_t bytes,
                  const struct slab_place *place);

/* The size that a block counts by itself: 0 if it lies in a slab. */
uint64_t slab_alone_bytes(uint64_t bytes, const struct slab_place *place);

#endif
