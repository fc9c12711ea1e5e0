/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks for stream-ordered memory and its pools. pool.h explains how they are charged.
 *
 * The per-thread variants (_ptsz) differ only in the meaning of stream 0. Outside the driver call
 * itself, CU_STREAM_LEGACY or CU_STREAM_PER_THREAD stands for it. In a captured stream an
 * allocation becomes a graph node, and is charged with its graph (graph.c).
 */
#include "shim/cuda/charge/import.h"
#include "shim/cuda/charge/plain_frees.h"
#include "shim/cuda/charge/pool_end.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/memory/pool.h"
#include "shim/cuda/memory/spill.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/swap/block.h"

/* A stream-ordered free. The block may also be plain memory or an import. */
struct freeing {
        struct charge taken;
        struct memory_import *import;
        CUstream stream;
};

/* Releases the charge of a block whose free the stream has executed. Runs on a thread of the
 * driver, on which CUDA calls are forbidden. */
static void freed_in_order(void *number)
{
        struct charge charge;

        charge_take(&charge, SPACE_FREED, key_of(number));
        remainder_gives_back(charge.device, charge.bytes);
        charge_drop(&charge);
        plain_note_frees(-1);
}

/* Releases the charge of plain memory when the stream has executed the free, because the driver has
 * the memory until then. If no host function can be enqueued behind the free, the block stays
 * charged until its context ends. */
static void drop_in_order(struct charge *taken, CUstream stream)
{
        static _Atomic uint64_t last_number;
        uint64_t number = add_relaxed(&last_number, 1) + 1;

        plain_note_frees(1);
        charge_keep(taken, SPACE_FREED, number);
        if (real.cuLaunchHostFunc(stream, freed_in_order, (void *)(uintptr_t)number) !=
            CUDA_SUCCESS)
                plain_note_frees(-1);
}

static struct freeing freeing_begin(CUdeviceptr address, CUstream stream)
{
        struct freeing freeing = { .stream = stream };

        access_in(stream);
        pool_freeing(stream);
        charge_take(&freeing.taken, SPACE_POINTER, address);
        freeing.import = import_take(SPACE_IMPORT, address);
        return freeing;
}

/* Frees a block that the driver does not free in stream order: a swappable block, or host memory.
 * False: the block is neither. */
static bool free_otherwise(struct freeing *freeing, CUdeviceptr address, CUresult *ret)
{
        if (swap_begins(address) && freeing->taken.is_reserved)
                *ret = swap_free_in_order(&freeing->taken, address, freeing->stream);
        else if (swap_meets(address, 1))
                *ret = CUDA_ERROR_INVALID_VALUE;
        else if (spill_is(&freeing->taken))
                *ret = spill_free_in_order(&freeing->taken, address, freeing->stream);
        else
                return false;
        return true;
}

static CUresult freeing_end(struct freeing *freeing, CUresult rc, CUdeviceptr address)
{
        struct charge none = { .device = CHARGE_NO_DEVICE };

        if (rc == CUDA_SUCCESS) {
                import_end(freeing->import);
                import_unexport(SPACE_POINTER, address, &freeing->taken);
                import_unexport(SPACE_POOL, address, &none);
                if (freeing->taken.bytes)
                        drop_in_order(&freeing->taken, freeing->stream);
        } else {
                import_keep(freeing->import, SPACE_IMPORT, address);
        }
        return settle_free(&freeing->taken, rc, SPACE_POINTER, address);
}

CUresult free_in_order(__typeof__(&cuMemFreeAsync) driver, CUdeviceptr address, CUstream given,
                       CUstream stream)
{
        scoped_access const struct credit *access = access_scope();
        struct freeing freeing = freeing_begin(address, stream);
        CUresult rc;

        if (!free_otherwise(&freeing, address, &rc))
                rc = driver(address, given);
        return freeing_end(&freeing, rc, address);
}

/* Creates the meter of a pool. A new pool has nothing reserved yet, but its location cannot be
 * queried later. */
static struct meter *note_pool(CUmemoryPool pool, const CUmemLocation *location)
{
        CUdevice device;

        return site_of(location, &device) == SITE_CARD
                       ? meter_of_pool(pool, place_of_device(device))
                       : NULL;
}

CUresult hook_cuMemPoolCreate(CUmemoryPool *ret, const CUmemPoolProps *props)
{
        scoped_access const struct credit *access = access_scope();
        CUdevice device = -1;
        bool is_ours =
                ret && props && front_is_on() && site_of(&props->location, &device) == SITE_CARD;
        struct place place = is_ours ? place_of_device(device) : place_nowhere;
        struct meter *meter;
        CUresult rc;

        if (place.row == SESSION_NO_ROW)
                return refusal(place);
        rc = real.cuMemPoolCreate(ret, props);
        if (rc != CUDA_SUCCESS || !is_ours)
                return rc;
        meter = note_pool(*ret, &props->location);
        if (!meter) { /* the table of meters is full; refreshing may remove those of ended pools */
                meters_refresh(-1, true);
                meter = note_pool(*ret, &props->location);
        }
        if (meter)
                pool_made(meter, props);
        return rc;
}

CUresult hook_cuMemPoolDestroy(CUmemoryPool pool)
{
        scoped_access const struct credit *access = access_scope();
        return pool_end(pool);
}

CUresult hook_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
        scoped_access const struct credit *access = access_scope();
        CUresult rc = real.cuMemPoolTrimTo(pool, keep);
        struct meter *meter = meter_find(SPACE_POOL, key_of(pool));

        if (rc == CUDA_SUCCESS && meter)
                meter_settle(meter, NULL);
        return rc;
}

/* Unlike the older calls, these tell the location of the pool that they return. */
CUresult hook_cuMemGetDefaultMemPool(CUmemoryPool *ret, CUmemLocation *location,
                                     CUmemAllocationType type)
{
        CUresult rc = real.cuMemGetDefaultMemPool(ret, location, type);

        if (rc == CUDA_SUCCESS && front_is_on())
                note_pool(*ret, location);
        return rc;
}

CUresult hook_cuMemGetMemPool(CUmemoryPool *ret, CUmemLocation *location, CUmemAllocationType type)
{
        CUresult rc = real.cuMemGetMemPool(ret, location, type);

        if (rc == CUDA_SUCCESS && front_is_on())
                note_pool(*ret, location);
        return rc;
}
