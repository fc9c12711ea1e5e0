/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of device memory and the host memory behind them: one sparse shared file for each
 * device and process.
 *
 * A block of device memory has the address of its bytes in this process. Blocks up to 1 MiB come in
 * size classes, larger ones in runs of 2 MiB chunks; both take constant time. The description of a
 * block (requested bytes, kind, context) is kept outside the memory that a program can overwrite.
 * Freed chunks return their host memory in batches.
 *
 * The arena does not count memory: the caller calls node_grant() before. The arena has far more
 * address space than the device has memory.
 */
#ifndef ALIQUOT_SIM_MEMORY_ARENA_H
#define ALIQUOT_SIM_MEMORY_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/memory/memory.h"
#include "sim/memory/slab.h"

/* Memory that is mapped at another address (the block here is its home): the home address is no
 * device pointer. */
#define BLOCK_HOME ((enum memory_kind)64)

struct arena_block {
        uint64_t bytes; /* requested size; 0 = not in use */
        CUcontext context;
        CUmemoryPool pool;
        uint64_t id;
        uint32_t flags;
        uint32_t kind;           /* enum memory_kind, or BLOCK_HOME */
        struct slab_place place; /* used for blocks of memory.c */
};

/* Allocates a block with a copy of the description `about`. 0: no address space or host memory. */
CUdeviceptr arena_alloc(unsigned unit, const struct arena_block *about);

/* Takes a block out of the table if `address` is its start and it is of that kind. The block's
 * memory stays until the caller calls arena_free(). */
bool arena_take(CUdeviceptr address, enum memory_kind kind, struct arena_block *ret);
void arena_free(CUdeviceptr address);

struct flag_change {
        uint32_t set, clear;
};

/* Sets and clears flags of the live block of that kind that begins at `address`, and returns its
 * former description. False: there is no such block. */
bool arena_set_flags(CUdeviceptr address, enum memory_kind kind, struct flag_change change,
                     struct arena_block *ret_before);

/* Finds the live block that contains an address. */
bool arena_find(CUdeviceptr address, struct arena_block *ret, CUdeviceptr *ret_base,
                unsigned *ret_unit);

/* Returns whether the address is one of device memory, allocated or not. */
bool arena_covers(CUdeviceptr address);

/* Takes the next block for which `test` returns true out of the table; `*cursor` is 0 at first.
 * Returns 0 at the end. */
CUdeviceptr arena_take_next(unsigned unit, uint64_t *cursor,
                            bool (*test)(const struct arena_block *block, void *argument),
                            void *argument, struct arena_block *ret);

/* Returns the file behind a device's arena, and the address's offset in it; -1 if there is no file.
 * The arena keeps ownership of the descriptor. */
int arena_file(CUdeviceptr address, uint64_t *ret_offset);

uint64_t block_next_id(void);

#endif
