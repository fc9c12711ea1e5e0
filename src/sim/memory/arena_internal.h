/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by arena.c (blocks) and arena_runs.c (chunks and the file behind them) only.
 */
#ifndef ALIQUOT_SIM_MEMORY_ARENA_INTERNAL_H
#define ALIQUOT_SIM_MEMORY_ARENA_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "common/atomic.h"
#include "sim/memory/arena.h"

#define CHUNK_BYTES (2ULL << 20)
#define BINS 32
#define CLASSES 48
#define NO_CHUNK UINT32_MAX

enum chunk_state { CHUNK_VIRGIN, CHUNK_FREE, CHUNK_SMALL, CHUNK_LARGE, CHUNK_BODY };

struct chunk {
        uint8_t state;
        uint8_t class;
        bool is_dirty;       /* first of a free run: may hold host memory */
        uint32_t run;        /* first chunk of a free or large run: number of chunks in it */
        uint32_t head;       /* other chunks of a large run, last of a free run: its first chunk */
        uint32_t prev, next; /* bin or class list */
        uint32_t free_place; /* small: first free place, or NO_CHUNK */
        uint32_t live;       /* small: blocks in use or taken */
        struct arena_block *blocks;
        struct arena_block large;
};

struct arena {
        pthread_mutex_t lock;
        char *_Atomic base; /* NULL until first used; set once, under the lock; arena_base() */
        uint64_t bytes;
        int fd;
        dev_t fd_device;
        ino_t fd_inode;
        struct chunk *chunk;
        uint32_t chunk_count;
        uint32_t top; /* chunks from here on were never used */
        uint32_t bin[BINS];
        uint32_t partial[CLASSES];
        uint64_t dirty_chunks;
};

/* Its address, NULL before arena_open(). Also without the lock: earlier writes are visible. */
static inline char *arena_base(const struct arena *arena)
{
        return load_acquire(&arena->base);
}

/* All with the arena's lock held. */

/* Makes the file and maps it. False when there is no address space or host memory. */
bool arena_open(struct arena *arena, unsigned unit);

/* Allocates a run of chunks; NO_CHUNK if there is none. */
uint32_t run_alloc(struct arena *arena, uint64_t wanted_chunks);
void run_free(struct arena *arena, uint32_t first, uint32_t run);

/* The lists of chunks: a bin, or the chunks of a class that have room. */
void list_add(struct arena *arena, uint32_t *list, uint32_t index);
void list_remove(struct arena *arena, uint32_t *list, uint32_t index);

#endif
