/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver takes of a card for a block: a part of a slab that small blocks share, or whole
 * pages of its own. Without the rules of grants=real, exactly what was asked for.
 *
 * Only the counting is done here: where a block's bytes are is the arena's affair.
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

/* Gives back what slab_grant() counted; a slab goes with its last block. */
void slab_release(CUcontext context, enum family family, uint64_t bytes,
                  const struct slab_place *place);

/* What a block counts for by itself: 0 when it lies in a slab. */
uint64_t slab_alone_bytes(uint64_t bytes, const struct slab_place *place);

#endif
