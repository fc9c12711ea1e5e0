/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves stream-ordered requests with plain memory, from the rest of a limit that is too small for
 * a pool to grow.
 *
 * The driver knows the card's size but not the limit: a pool grows by whole chunks
 * (MEASURE_POOL_BYTES), although on a full card it would take less. So up to one chunk of each
 * limit could not be used by stream-ordered allocation. A request that fits into that rest, and
 * into no pool, gets plain memory instead. Plain memory is charged to the byte and never above the
 * limit. The program frees it like any other block, because the driver accepts plain memory in
 * cuMemFreeAsync (CUDA Programming Guide, stream-ordered memory allocator). The memory is available
 * at once, so every stream order is kept.
 *
 * A program could notice the difference. So plain memory is used only in a process that sees one
 * device, because access to a pool may later be given to other devices, and only for a pool that is
 * not shared with other processes and has no maximum size of its own. Such a program can still see
 * that the block belongs to no pool (cuPointerGetAttribute), that it does not count as used in its
 * pool, and that it ends with its context.
 */
#include "shim/cuda/memory/pool.h"

#include "common/clock.h"
#include "shim/cuda/charge/plain_frees.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/state/meters.h"

#define WAIT_TRIES 20000u
#define WAIT_SLEEP_NS UINT64_C(100000) /* together 2 s */

static bool is_ordinary(const struct growth *growth)
{
        const struct meter *meter = growth->meter;
        CUmemoryPool pool = NULL;

        if (load_relaxed(&meter->is_ordinary))
                return true;
        return real.cuDeviceGetDefaultMemPool(&pool, growth->place.device) == CUDA_SUCCESS &&
               key_of(pool) == load_relaxed(&meter->key);
}

/* Charges the request to the byte. A pool would reuse freed memory for the next request in the same
 * stream at once, but plain memory is free only when the stream has executed the free. So a request
 * that needs the room waits for that, as long as for memory of a dead process. Makes no driver
 * call, so it is allowed during captures. */
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

/* Allocates plain memory in the stream's context. Allowed while this thread or another one
 * captures. */
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
