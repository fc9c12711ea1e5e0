/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools: shared by pool.c (pools and their attributes) and async.c (allocation from them).
 *
 * A pool has reserved part of its device, in steps of the configuration's pool_growth, and its
 * grant is that reserve; allocations use the reserve. Memory that a stream will free but has not
 * reached yet can be reused at once by the same stream (the free is then dropped), by other streams
 * only afterwards.
 */
#ifndef ALIQUOT_SIM_MEMORY_POOL_H
#define ALIQUOT_SIM_MEMORY_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/node.h"

#define POOL_MAGIC 0x506f6f6cu

/* A block that the program freed and whose stream has not reached the free yet. */
struct pool_pending {
        struct pool_pending *next;
        uintptr_t stream;
        uint64_t bytes; /* not reused by the same stream yet */
};

struct reserve {
        unsigned unit;
        enum family family;
        uint64_t reserved_bytes, reserved_high_bytes;
        uint64_t used_bytes, used_high_bytes;
        uint64_t growths; /* ever */
};

struct CUmemPoolHandle_st {
        uint32_t magic; /* POOL_MAGIC */
        CUdevice device;
        bool is_default, is_imported;
        CUmemPoolProps props;
        uint64_t share; /* object, once exported or imported */
        struct CUmemPoolHandle_st *next;

        pthread_mutex_t lock; /* guards all that follows */
        bool is_destroyed;    /* gone when the last allocation is */
        struct reserve reserve;
        uint64_t release_threshold_bytes;
        int reuse[3]; /* the REUSE_* attributes, in order */
        uint32_t read_mask, write_mask;
        uint64_t live;                /* allocations, including those being freed */
        struct pool_pending *pending; /* blocks with bytes left */
        uint64_t pending_bytes; /* of all of them; used and pending bytes are within the reserve */
        uint64_t freeing;       /* blocks whose stream has not reached their free */
};

/* Grows the reserve, in steps, to `wanted_bytes` in total; false: the device is full. */
bool reserve_grow(struct reserve *reserve, uint64_t wanted_bytes);

/* Shrinks it to the used bytes (at least `keep_bytes`), in whole steps. */
void reserve_trim(struct reserve *reserve, uint64_t keep_bytes);

void reserve_use(struct reserve *reserve, uint64_t bytes);

/* INVALID_VALUE unless it is a live pool. */
CUresult pool_check(CUmemoryPool pool);

/* The device's pool for cuMemAllocAsync. Never NULL for a valid device. */
CUmemoryPool pool_current(CUdevice device);

#endif
