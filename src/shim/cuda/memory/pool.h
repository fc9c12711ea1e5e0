/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered allocation: the grant for a request, and what frees and waits mean for its pool.
 *
 * The grant is the most that a pool may grow by for the request. If the limit has no room for that,
 * the request may still fit in the pool's present memory. Then it is made without a grant, alone in
 * its pool, so that no other thread takes that room meanwhile, and only if memory freed in another
 * stream does not count as room. If the pool grows anyway, it must give the block back at once.
 *
 * A limit may leave less than a pool grows by. That rest is used as plain memory, which the driver
 * frees in stream order too (pool_plain.c).
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_POOL_H
#define ALIQUOT_SHIM_CUDA_MEMORY_POOL_H

#include "shim/cuda/charge/meter.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/capture.h"
#include "shim/cuda/stream/told.h"
#include "shim/room.h"

/* One stream-ordered allocation. */
struct growth {
        struct charge charge;
        struct meter *meter; /* NULL: nothing is charged */
        struct place place;
        CUstream stream;
        CUdeviceptr *ret; /* the program's */
        uint64_t bytes;
        uint64_t capture; /* held until the call is over: nothing is charged; 0: none */
        CUresult rc;      /* the refusal, or the last answer */
        bool is_called;
        unsigned step;    /* the next one to try for a grant */
        unsigned attempt; /* is_draining() */
        struct room_wait wait;
        bool is_alone;
        bool is_plain; /* the grant is for plain memory, which is not the driver's call to give */
        bool is_final; /* the last refusal: no other thread's grant was in the way */
};

struct growth_request {
        CUmemoryPool pool; /* NULL: the current pool of the stream's device */
        CUstream stream;   /* with the thread's own default stream spelt out */
        uint64_t bytes;
};

/* The hook, which cuda.api makes: the driver is called for as long as it goes on. */
struct growth growth_begin(CUdeviceptr *ret, struct growth_request request);
bool growth_goes_on(struct growth *growth);

static inline CUresult growth_end(struct growth *growth)
{
        return access_end(growth->rc);
}

/* The last resort: plain memory. False: its pool's blocks must come from the pool, or there is no
 * room. */
bool plain_begin(struct growth *growth);
void plain_take(struct growth *growth);

/* The hook of a stream-ordered free, which cuda.api makes; `given` is the stream as the program
 * said it. */
CUresult free_in_order(__typeof__(&cuMemFreeAsync) driver, CUdeviceptr address, CUstream given,
                       CUstream stream);

/* A stream-ordered free is about to be made, in a stream with the default one spelt out. */
void pool_freeing(CUstream stream);

/* A block that may have been of a pool was freed, and waited for. */
void pool_freed_at_once(void);

/*
 * Waiting for a stream, or for the whole context (TOLD_CONTEXT): pools may have shrunk, and what
 * was freed there is free. `frees` is pool_frees() from before the wait.
 */
uint64_t pool_frees(void);
void pool_synchronised(CUstream stream, uint64_t frees);

#endif
