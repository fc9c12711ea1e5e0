/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered allocation: how a request gets its grant, and what frees and waits change in a
 * pool.
 *
 * The grant is the maximum by which a pool may grow for the request. If the limit has no room for
 * that grant, the request may still fit into the memory that the pool has now. Then the request is
 * made without a grant. No other allocation from the pool is in flight meanwhile, so that none
 * takes that memory; and memory freed in another stream does not count as free for it. If the pool
 * grows nevertheless, the block is freed again at once.
 *
 * A limit may leave less room than a pool grows by. Such a rest is used as plain memory, which the
 * driver frees in stream order too (pool_plain.c).
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_POOL_H
#define ALIQUOT_SHIM_CUDA_MEMORY_POOL_H

#include "shim/cuda/charge/meter.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/capture.h"
#include "shim/cuda/stream/told.h"
#include "shim/room.h"

/* The state of one stream-ordered allocation. */
struct growth {
        struct charge charge;
        struct meter *meter; /* the pool's meter; NULL: nothing is charged */
        struct place place;
        CUstream stream;
        CUdeviceptr *ret; /* the program's output parameter */
        uint64_t bytes;
        /* Capture that is held until the call is over, for which nothing is charged; 0: none. */
        uint64_t capture;
        CUresult rc; /* the refusal, or the driver's last result */
        /* Whether growth_goes_on() was called. */
        bool is_called;
        unsigned step;    /* index of the next step to try for a grant (pool.c) */
        unsigned attempt; /* counter for is_draining() */
        struct room_wait wait;
        /* The allocation has no grant, and no other may be in flight in its pool. */
        bool is_alone;
        bool is_plain; /* the grant is for plain memory, so the driver's pool call is not made */
        /* No other thread had a grant at the last refusal, so waiting for them does not help. */
        bool is_final;
};

struct growth_request {
        CUmemoryPool pool; /* NULL: the current pool of the stream's device */
        CUstream stream;   /* CU_STREAM_PER_THREAD for the thread's own default stream */
        uint64_t bytes;
};

/* Begin a hook and control its loop. gen-api makes the hook from cuda.api; it calls the driver as
 * long as growth_goes_on() returns true. */
struct growth growth_begin(CUdeviceptr *ret, struct growth_request request);
bool growth_goes_on(struct growth *growth);

static inline CUresult growth_end(struct growth *growth)
{
        return access_end(growth->rc);
}

/* Charges the request as plain memory, as the last resort. False: the pool's blocks must come from
 * the pool, or there is no room. */
bool plain_begin(struct growth *growth);
/* Allocates the plain memory that plain_begin() charged, and stores the result in `growth->rc`. */
void plain_take(struct growth *growth);

/* Frees `address` in stream order, for a hook that gen-api makes from cuda.api. `driver` is the
 * driver's function, and `given` the stream as the program gave it. */
CUresult free_in_order(__typeof__(&cuMemFreeAsync) driver, CUdeviceptr address, CUstream given,
                       CUstream stream);

/* Notes that a stream-ordered free is about to be made. `stream` is CU_STREAM_LEGACY or
 * CU_STREAM_PER_THREAD for a default stream. */
void pool_freeing(CUstream stream);

/* Notes that a block was freed by a call that waited, and that the block may belong to a pool. */
void pool_freed_at_once(void);

/*
 * Notes that a wait for a stream, or for the whole context (TOLD_CONTEXT), is over: pools may have
 * shrunk, and blocks that were freed there are free now. `frees` is the result of pool_frees()
 * before the wait.
 */
uint64_t pool_frees(void);
void pool_synchronised(CUstream stream, uint64_t frees);

#endif
