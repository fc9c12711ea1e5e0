/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Destroys pools, but keeps a pool that is not empty until it is.
 *
 * Memory that a pool still has reserved after a trim is in use, or was freed in a stream that has
 * not executed the free yet. The driver keeps that memory beyond cuMemPoolDestroy, but a destroyed
 * pool cannot be queried, so nothing would show when the memory is freed. Therefore a pool that is
 * not empty is only *ended*: it is no longer the current pool of any device, its release threshold
 * is 0, so it releases unused memory at every synchronisation, and its meter is read like any
 * other. The pool is destroyed when a reading finds it empty.
 *
 * Only pools created by the program are ended this way, because the driver might refuse to destroy
 * others. Memory that another pool has reserved when it is destroyed stays charged until the
 * process ends.
 *
 * All calls for an ended pool are made in relaxed capture mode, so that they do not invalidate a
 * capture.
 */
#include "shim/cuda/charge/pool_end.h"

#include "shim/cuda/charge/meter.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/state/meters.h"
#include "shim/cuda/stream/ask.h"

void pool_made(struct meter *meter, const CUmemPoolProps *props)
{
        store_relaxed(&meter->is_made, 1);
        store_relaxed(&meter->is_ordinary, !props->handleTypes && !props->maxSize && !props->usage);
}

static void pool_trim(struct meter *meter)
{
        scoped_relaxed struct relaxed was = relax();
        uint64_t key = meter_hold(meter);

        if (key)
                real.cuMemPoolTrimTo((CUmemoryPool)(uintptr_t)key, 0);
        meter_let_go(meter);
}

/* Whether the pool has no reserved memory after a trim. */
static bool pool_empty(struct meter *meter)
{
        uint64_t reserved;

        pool_trim(meter);
        meter_follow(meter);
        return meter_read(meter, &reserved) && reserved == 0;
}

/* If `pool` is the current pool of `device`, makes the device's default pool current. False: the
 * driver failed. */
static bool pool_withdraw(CUmemoryPool pool, CUdevice device)
{
        CUmemoryPool now, first;

        if (real.cuDeviceGetMemPool(&now, device) != CUDA_SUCCESS)
                return false;
        if (now != pool)
                return true;
        return real.cuDeviceGetDefaultMemPool(&first, device) == CUDA_SUCCESS &&
               real.cuDeviceSetMemPool(device, first) == CUDA_SUCCESS;
}

static bool pool_keep(CUmemoryPool pool, struct meter *meter)
{
        cuuint64_t nothing = 0;

        if (!load_relaxed(&meter->is_made) || !pool_withdraw(pool, load_relaxed(&meter->device)))
                return false;

        scoped_relaxed struct relaxed was = relax();
        real.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &nothing);
        store_relaxed(&meter->is_dirty, 1);
        store_release(&meter->is_ended, METER_ENDED);
        return true;
}

/* Removes the meter first, because the driver may give the handle to another pool at once. */
static CUresult pool_destroy(CUmemoryPool pool, struct meter *meter)
{
        struct charge charge;
        struct place place = meter_close(meter, &charge);
        CUresult rc = real.cuMemPoolDestroy(pool);

        if (rc == CUDA_SUCCESS)
                meter_leave(&charge);
        else
                meter_reopen(pool, place, &charge);
        return rc;
}

CUresult pool_end(CUmemoryPool pool)
{
        struct meter *meter = pool ? meter_find(SPACE_POOL, key_of(pool)) : NULL;

        if (!meter)
                return real.cuMemPoolDestroy(pool);
        if (load_acquire(&meter->is_ended))
                return CUDA_ERROR_INVALID_VALUE;
        if (!pool_empty(meter) && pool_keep(pool, meter))
                return CUDA_SUCCESS;
        return pool_destroy(pool, meter);
}

void pool_bury(struct meter *meter)
{
        uint32_t ended = METER_ENDED;
        struct charge charge;
        uint64_t key;

        if (!cas_acq_rel(&meter->is_ended, &ended, METER_BURYING))
                return;
        if (!pool_empty(meter)) {
                store_release(&meter->is_ended, METER_ENDED);
                return;
        }
        key = load_relaxed(&meter->key);
        meter_close(meter, &charge);
        charge_drop(&charge);

        scoped_relaxed struct relaxed was = relax();
        real.cuMemPoolDestroy((CUmemoryPool)(uintptr_t)key);
}
