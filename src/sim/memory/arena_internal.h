/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by arena.c (blocks) and arena_runs.c (chunks and the file behind them) only. A run is a
 * sequence of chunks, allocated or free.
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
        bool is_dirty; /* in the first chunk of a free run: the run may still have host memory */
        uint32_t run;  /* in the first chunk of a free or large run: number of chunks in the run */
        /* in the other chunks of a large run and the last of a free run: the run's first chunk */
        uint32_t head;
        uint32_t prev, next; /* neighbours in the list of a bin or a class */
        uint32_t free_place; /* in a small chunk: its first free place, or NO_CHUNK */
        uint32_t live; /* in a small chunk: blocks that are in use, or taken and not yet freed */
        struct arena_block *blocks;
        struct arena_block large;
};

struct arena {
        pthread_mutex_t lock;
        /* NULL until first used; set once, under the lock; read it with arena_base() */
        char *_Atomic base;
        uint64_t bytes;
        int fd;
        dev_t fd_device;
        ino_t fd_inode;
        struct chunk *chunk;
        uint32_t chunk_count;
        uint32_t top; /* chunks with this index or a higher one were never used */
        uint32_t bin[BINS];
        uint32_t partial[CLASSES];
        uint64_t dirty_chunks;
};

/* Returns the arena's address; NULL before arena_open(). It may be called without the lock: what
 * was written before arena_open() ended is visible. */
static inline char *arena_base(const struct arena *arena)
{
        return load_acquire(&arena->base);
}

/* The caller of the following functions holds the arena's lock. */

/* Creates the arena's file and maps it. False: no address space or host memory. */
bool arena_open(struct arena *arena, unsigned unit);

/* Allocates a run of chunks; NO_CHUNK if there is none. */
uint32_t run_alloc(struct arena *arena, uint64_t wanted_chunks);
void run_free(struct arena *arena, uint32_t first, uint32_t run);

/* Change the lists of chunks: those of a bin, or the chunks of a class that have room. */
void list_add(struct arena *arena, uint32_t *list, uint32_t index);
void list_remove(struct arena *arena, uint32_t *list, uint32_t index);

#endif
