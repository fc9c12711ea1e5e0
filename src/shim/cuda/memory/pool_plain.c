/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses the rest of a limit that no pool can grow into.
 *
 * The driver knows the card, not the limit: a pool grows by whole chunks (MEASURE_POOL_BYTES),
 * where a full card would make it take less. So up to a chunk of each limit would be out of reach
 * for stream-ordered allocation. A request that fits in that rest, and in no pool, gets plain
 * memory instead: charged to the byte, never above the limit, and freed by the program as any other
 * block, because the driver accepts plain memory in cuMemFreeAsync (CUDA Programming Guide,
 * stream-ordered memory allocator). It is available at once, so it satisfies every stream order.
 *
 * A program could notice the difference, so it is used only in a process that sees one device,
 * because a pool may be opened to others later, and only for a pool that is not shared with other
 * processes and has no bounds of its own. Such a program can see that the block belongs to no pool
 * (cuPointerGetAttribute) and does not count as used in its pool, and that it ends with its
 * context.
 */
#include "shim/cuda/memory/pool.h"

#include "common/clock.h"
#include "shim/cuda/charge/plain_frees.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/state/meters.h"

#define WAIT_TRIES 20000u
#define WAIT_SLEEP_NS UINT64_C(100000) /* 2 s in all */

static bool is_ordinary(const struct growth *growth)
{
        const struct meter *meter = growth->meter;
        CUmemoryPool pool = NULL;

        if (load_relaxed(&meter->is_ordinary))
                return true;
        return real.cuDeviceGetDefaultMemPool(&pool, growth->place.device) == CUDA_SUCCESS &&
               key_of(pool) == load_relaxed(&meter->key);
}

/* A pool would reuse freed memory for the next request of the same stream at once. Plain memory is
 * free when the stream has reached the free: a request that needs it waits for that, as long as for
 * a card that drains. Makes no driver call, so it is legal during captures. */
static bool charge_in_time(struct growth *growth)
{
        const uint32_t row = load_relaxed(&growth->meter->row);

        for (unsigned i = 0; !charge_begin(&growth->charge, row, growth->bytes); i++) {
                if (!plain_frees_are_pending() || i == WAIT_TRIES)
                        return false;
                clock_sleep_ns(WAIT_SLEEP_NS);
        }
        return true;
}

bool plain_begin(struct growth *growth)
{
        int count = 0;

        if (!growth->place.owner || load_relaxed(&growth->meter->device) != growth->place.device ||
            real.cuDeviceGetCount(&count) != CUDA_SUCCESS || count != 1 || !is_ordinary(growth))
                return false;
        remainder_tend(growth->place.row, growth->bytes);
        growth->is_plain = charge_in_time(growth);
        if (growth->is_plain) {
                growth->charge.owner = growth->place.owner;
                remainder_granted(growth->place.row, growth->bytes);
        }
        return growth->is_plain;
}

/* In the stream's context. Legal while this thread, or another, captures. */
static CUresult alloc(struct growth *growth)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        bool is_elsewhere = place_here().owner != growth->place.owner;
        CUcontext context = NULL;
        CUresult rc = CUDA_SUCCESS;
        unsigned attempt = 0;

        if (is_elsewhere)
                rc = real.cuStreamGetCtx(growth->stream, &context);
        if (is_elsewhere && rc == CUDA_SUCCESS)
                rc = real.cuCtxPushCurrent_v2(context);
        if (rc != CUDA_SUCCESS)
                return rc;
        real.cuThreadExchangeStreamCaptureMode(&mode);
        do
                rc = real.cuMemAlloc_v2(growth->ret, growth->bytes);
        while (is_draining(&growth->charge, rc, &attempt));
        real.cuThreadExchangeStreamCaptureMode(&mode);
        if (is_elsewhere)
                real.cuCtxPopCurrent_v2(&context);
        return rc;
}

void plain_take(struct growth *growth)
{
        growth->rc = alloc(growth);
        settle(&growth->charge, growth->rc, SPACE_POINTER, key_at(growth->rc, growth->ret));
}
