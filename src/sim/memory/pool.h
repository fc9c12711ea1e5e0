/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools, between pool.c (what a pool is and can be asked) and async.c (allocation from it).
 *
 * A pool has reserved so much of its device, in steps of the configuration's pool_growth, and
 * counts that as its grant; allocations take from the reserve. What a stream freed but has not yet
 * reached may be taken again at once by the same stream (then it waits for nobody any more), by
 * others only afterwards.
 */
#ifndef ALIQUOT_SIM_MEMORY_POOL_H
#define ALIQUOT_SIM_MEMORY_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/node.h"

#define POOL_MAGIC 0x506f6f6cu

/* A block that the program freed and its stream has not yet reached: so many of its bytes wait. */
struct pool_pending {
        struct pool_pending *next;
        uintptr_t stream;
        uint64_t bytes; /* less what the same stream took again since */
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
        uint64_t live;                /* allocations, those being freed included */
        struct pool_pending *pending; /* those with bytes left */
        uint64_t pending_bytes;       /* of all of them; used and pending are within the reserve */
        uint64_t freeing;             /* blocks whose stream has not got to their free */
};

/* The reserve grows by what is missing for `wanted_bytes` in all, in steps; false: device full. */
bool reserve_grow(struct reserve *reserve, uint64_t wanted_bytes);

/* Shrinks it to what is used (and at least `keep_bytes`), in whole steps. */
void reserve_trim(struct reserve *reserve, uint64_t keep_bytes);

void reserve_use(struct reserve *reserve, uint64_t bytes);

/* INVALID_VALUE unless it is a live pool. */
CUresult pool_check(CUmemoryPool pool);

/* The device's pool for cuMemAllocAsync. Never NULL for a valid device. */
CUmemoryPool pool_current(CUdevice device);

#endif
