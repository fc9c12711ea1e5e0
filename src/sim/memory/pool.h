/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools: shared by pool.c (pools and their attributes) and async.c (allocation from them).
 *
 * A pool reserves part of its device, in steps of the configured pool_growth. The reserve is what
 * the device grants; allocations use the reserve. If a free is queued in a stream but the stream
 * has not reached it yet, the same stream can reuse the memory at once (the free is then dropped);
 * other streams can use it only afterwards.
 */
#ifndef ALIQUOT_SIM_MEMORY_POOL_H
#define ALIQUOT_SIM_MEMORY_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/node.h"

#define POOL_MAGIC 0x506f6f6cu

/* A block that the program has freed in a stream that has not reached the free yet. */
struct pool_pending {
        struct pool_pending *next;
        uintptr_t stream;
        uint64_t bytes; /* bytes that the same stream has not reused yet */
};

struct reserve {
        unsigned unit;
        enum family family;
        uint64_t reserved_bytes, reserved_high_bytes;
        uint64_t used_bytes, used_high_bytes;
        uint64_t growths; /* number of times that it grew */
};

struct CUmemPoolHandle_st {
        uint32_t magic; /* POOL_MAGIC */
        CUdevice device;
        bool is_default, is_imported;
        CUmemPoolProps props;
        uint64_t share; /* id of the object (share.h), once exported or imported; else 0 */
        struct CUmemPoolHandle_st *next;

        pthread_mutex_t lock; /* guards all following fields */
        bool is_destroyed;    /* destroyed by the program; it ends with its last allocation */
        struct reserve reserve;
        uint64_t release_threshold_bytes;
        int reuse[3]; /* values of the REUSE_* attributes, in order */
        uint32_t read_mask, write_mask;
        uint64_t live; /* number of allocations, including those that are being freed */
        struct pool_pending *pending; /* blocks that have bytes left for reuse */
        /* sum of the bytes of `pending`; used and pending bytes are within the reserve */
        uint64_t pending_bytes;
        uint64_t freeing; /* number of blocks whose stream has not reached their free */
};

/* Grows the reserve, in steps, to `wanted_bytes` in total. False: the device is full. */
bool reserve_grow(struct reserve *reserve, uint64_t wanted_bytes);

/* Shrinks the reserve to the used bytes (but at least `keep_bytes`), in whole steps. */
void reserve_trim(struct reserve *reserve, uint64_t keep_bytes);

void reserve_use(struct reserve *reserve, uint64_t bytes);

/* Checks the handle of a pool. INVALID_VALUE unless the pool exists. */
CUresult pool_check(CUmemoryPool pool);

/* Returns the pool from which cuMemAllocAsync allocates on the device. Never NULL for a valid
 * device. */
CUmemoryPool pool_current(CUdevice device);

#endif
