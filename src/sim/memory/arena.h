/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and backing of device memory: one sparse shared file for each device and process.
 *
 * A block's address is where its bytes are in this process. Blocks come in size classes up to 1
 * MiB, and above that in runs of 2 MiB chunks; both take constant time. What a block is (requested
 * bytes, kind, context) is kept outside the memory that a program can overwrite. Freed chunks
 * return their host memory in batches.
 *
 * The arena does not count memory: node_grant() does that before. The arena may hand out far more
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

/* Backing that is mapped elsewhere: its home address is not a device pointer. */
#define BLOCK_HOME ((enum memory_kind)64)

struct arena_block {
        uint64_t bytes; /* as asked for; 0 = not in use */
        CUcontext context;
        CUmemoryPool pool;
        uint64_t id;
        uint32_t flags;
        uint32_t kind;           /* enum memory_kind, or BLOCK_HOME */
        struct slab_place place; /* of memory.c's blocks */
};

/* 0 when there is no address space or host memory. `about` is copied. */
CUdeviceptr arena_alloc(unsigned unit, const struct arena_block *about);

/* Takes a block out of the table if `address` is its start and it is of that kind. The block stays
 * backed until the caller returns it with arena_free(). */
bool arena_take(CUdeviceptr address, enum memory_kind kind, struct arena_block *ret);
void arena_free(CUdeviceptr address);

struct flag_change {
        uint32_t set, clear;
};

/* Sets and clears flags of the live block of that kind that begins there; its flags before. False
 * when there is none. */
bool arena_set_flags(CUdeviceptr address, enum memory_kind kind, struct flag_change change,
                     struct arena_block *ret_before);

/* The live block around an address. */
bool arena_find(CUdeviceptr address, struct arena_block *ret, CUdeviceptr *ret_base,
                unsigned *ret_unit);

/* Whether it is an address of device memory, allocated or not. */
bool arena_covers(CUdeviceptr address);

/* Takes any block that satisfies the test, from `*cursor` (0 to begin) on; 0 at the end. */
CUdeviceptr arena_take_next(unsigned unit, uint64_t *cursor,
                            bool (*test)(const struct arena_block *block, void *argument),
                            void *argument, struct arena_block *ret);

/* The file behind a device's arena and the address's offset in it; -1 if there is no file. The
 * arena keeps the descriptor. */
int arena_file(CUdeviceptr address, uint64_t *ret_offset);

uint64_t block_next_id(void);

#endif
