/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/charge/meter.h"

#include "common/clock.h"
#include "common/minmax.h"
#include "shim/cuda/charge/orphan.h"
#include "shim/cuda/charge/pool_end.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/state/imports.h"
#include "shim/cuda/state/meters.h"
#include "shim/cuda/stream/ask.h"

/* Before a meter is closed, its readers (threads that ask the driver about the pool) are waited
 * for, but for about 20 ms at most, because a thread may have been killed while it was a reader. */
#define CLOSE_SLEEP_NS 20000
#define CLOSE_TRIES 1000u

struct meter *meter_find(enum charge_space space, uint64_t key)
{
        uint32_t high = load_acquire(&meter_state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &meter_state.meters[i];

                if (load_acquire(&meter->key) == key && load_relaxed(&meter->space) == (int)space)
                        return meter;
        }
        return NULL;
}

static struct meter *free_meter(void)
{
        uint32_t high = load_relaxed(&meter_state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                if (!load_relaxed(&meter_state.meters[i].key))
                        return &meter_state.meters[i];
        }
        if (high == STATE_METERS)
                return NULL;
        store_release(&meter_state.meters_high, high + 1);
        return &meter_state.meters[high];
}

static struct meter *meter_make(enum charge_space space, uint64_t key, struct place place)
{
        struct meter *meter;

        if (place.row < 0)
                return NULL;
        lock_take(&meter_state.meters_lock);
        meter = meter_find(space, key);
        if (!meter) {
                meter = free_meter();
                if (meter) {
                        store_relaxed(&meter->space, (int)space);
                        store_relaxed(&meter->row, place.row);
                        store_relaxed(&meter->device, place.device);
                        store_relaxed(&meter->is_dirty, 0);
                        store_relaxed(&meter->is_ended, 0);
                        store_relaxed(&meter->is_made, 0);
                        store_relaxed(&meter->is_ordinary, 0);
                        meter->pending_bytes = 0;
                        store_relaxed(&meter->freed_stream, 0);
                        meter->calls = 0;
                        meter->is_alone = false;
                        meter->granted = 0;
                        meter->generation = 1;
                        store_release(&meter->key, key);
                }
        }
        lock_drop(&meter_state.meters_lock);
        return meter;
}

struct meter *meter_of_pool(CUmemoryPool pool, struct place place)
{
        struct meter *meter = pool ? meter_find(SPACE_POOL, key_of(pool)) : NULL;

        return meter || !pool ? meter : meter_make(SPACE_POOL, key_of(pool), place);
}

struct meter *meter_of_graphs(struct place place)
{
        uint64_t key = (uint64_t)place.device + 1;
        struct meter *meter;

        if (place.row < 0)
                return NULL;
        meter = meter_find(SPACE_GRAPH, key);
        return meter ? meter : meter_make(SPACE_GRAPH, key, place);
}

uint64_t meter_hold(struct meter *meter)
{
        add_acq_rel(&meter->readers, 1u);
        fence_seq_cst();
        return load_acquire(&meter->key);
}

void meter_let_go(struct meter *meter)
{
        add_acq_rel(&meter->readers, -1u);
}

/* Reads an attribute of a pool, or the reserved size of graph memory. Relaxed mode, because the
 * query must not invalidate a capture of another thread. */
static bool attribute(struct meter *meter, CUmemPool_attribute asked, uint64_t *ret)
{
        uint64_t key = meter_hold(meter);
        scoped_relaxed struct relaxed was = relax();
        cuuint64_t bytes = 0;
        CUresult rc;

        if (!key)
                rc = CUDA_ERROR_INVALID_VALUE;
        else if (load_relaxed(&meter->space) == SPACE_POOL)
                rc = real.cuMemPoolGetAttribute((CUmemoryPool)(uintptr_t)key, asked, &bytes);
        else
                rc = real.cuDeviceGetGraphMemAttribute(
                        (CUdevice)key - 1, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes);
        meter_let_go(meter);
        if (rc == CUDA_SUCCESS)
                *ret = bytes;
        return rc == CUDA_SUCCESS;
}

bool meter_read(struct meter *meter, uint64_t *ret_bytes)
{
        return attribute(meter, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, ret_bytes);
}

bool meter_read_used(struct meter *meter, uint64_t *ret_bytes)
{
        return attribute(meter, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, ret_bytes);
}

/* Sets the charge to `reserved`, and takes an increase from `grant`. Part of `reserved` may belong
 * to calls in flight, whose grants (pending_bytes) cover it. Returns whether charge and grants
 * cover all of `reserved`. The caller holds the meter's lock. */
static bool set_charge(struct meter *meter, uint64_t reserved, struct charge *grant)
{
        enum charge_space space = (enum charge_space)load_relaxed(&meter->space);
        uint64_t key = load_relaxed(&meter->key);
        struct charge kept;
        uint64_t held;

        if (grant)
                meter->pending_bytes -= grant->bytes;
        charge_take(&kept, space, key);
        held = kept.bytes;
        if (reserved > held && grant && grant->bytes) {
                uint64_t missing = reserved - held;

                if (missing < grant->bytes)
                        charge_trim(grant, missing);
                charge_join(&kept, grant);
        } else if (reserved < held && !meter->is_alone) {
                /* not while a call without a grant is in flight: it may rely on the pool's present
                 * size */
                charge_trim(&kept, reserved);
                remainder_is_due(load_relaxed(&meter->row));
        }
        held = kept.bytes;
        if (held)
                charge_keep(&kept, space, key);
        else
                charge_drop(&kept);
        meter->version++;
        return held >= reserved || reserved - held <= meter->pending_bytes;
}

/* Keeps all of `grant` charged, because the driver does not report the reserved size now. Marks the
 * meter dirty, so that a later reading corrects the charge. */
static void keep_all(struct meter *meter, struct charge *grant)
{
        enum charge_space space = (enum charge_space)load_relaxed(&meter->space);
        uint64_t key = load_relaxed(&meter->key);
        struct charge kept;

        lock_take(&meter->lock);
        meter->pending_bytes -= grant->bytes;
        charge_take(&kept, space, key);
        charge_join(&kept, grant);
        charge_keep(&kept, space, key);
        meter->version++;
        store_relaxed(&meter->is_dirty, 1);
        lock_drop(&meter->lock);
}

/* Adds a grant to the pending bytes of the meter; meter_settle() removes it. */
static void add_pending(struct meter *meter, uint64_t bytes)
{
        lock_take(&meter->lock);
        meter->pending_bytes += bytes;
        lock_drop(&meter->lock);
}

bool meter_settle(struct meter *meter, struct charge *grant)
{
        bool is_covered = true;
        uint64_t version;
        uint64_t reserved;

        for (;;) {
                lock_take(&meter->lock);
                version = meter->version;
                lock_drop(&meter->lock);
                if (!meter_read(meter, &reserved)) {
                        if (grant)
                                keep_all(meter, grant);
                        break;
                }
                lock_take(&meter->lock);
                if (meter->version == version) {
                        is_covered = set_charge(meter, reserved, grant);
                        lock_drop(&meter->lock);
                        break;
                }
                lock_drop(&meter->lock);
        }
        if (grant)
                charge_drop(grant);
        return is_covered;
}

static bool grant_rest(struct meter *meter,
                       bool (*begin)(struct charge *c, int device, uint64_t bytes))
{
        uint64_t reserved, held;
        struct charge rest;

        if (!meter_read(meter, &reserved))
                return false;
        held = charge_held((enum charge_space)load_relaxed(&meter->space),
                           load_relaxed(&meter->key));
        if (reserved <= held)
                return true;
        if (!begin(&rest, load_relaxed(&meter->row), reserved - held))
                return false;
        add_pending(meter, rest.bytes);
        return meter_settle(meter, &rest);
}

bool meter_grant_rest(struct meter *meter)
{
        return grant_rest(meter, charge_begin);
}

void meter_follow(struct meter *meter)
{
        if (!meter_settle(meter, NULL) && !meter_grant_rest(meter))
                grant_rest(meter, charge_force);
}

struct place meter_close(struct meter *meter, struct charge *ret_charge)
{
        struct place place = { .row = load_relaxed(&meter->row),
                               .device = load_relaxed(&meter->device) };

        lock_take(&meter->lock);
        charge_take(ret_charge, SPACE_POOL, load_relaxed(&meter->key));
        meter->version++;
        store_release(&meter->key, 0);
        lock_drop(&meter->lock);
        fence_seq_cst();
        for (unsigned i = 0; load_acquire(&meter->readers) && i < CLOSE_TRIES; i++)
                clock_sleep_ns(CLOSE_SLEEP_NS);
        return place;
}

void meter_leave(struct charge *take_charge)
{
        /* Pools have even handles, so an odd key belongs to none. */
        static _Atomic uint64_t last_key = 1;

        if (take_charge->bytes)
                charge_keep(take_charge, SPACE_POOL, add_relaxed(&last_key, 2));
        else
                charge_drop(take_charge);
}

void meter_reopen(CUmemoryPool pool, struct place place, struct charge *take_charge)
{
        struct meter *meter = meter_of_pool(pool, place);

        if (!meter) {
                meter_leave(take_charge);
                return;
        }
        add_pending(meter, take_charge->bytes);
        meter_settle(meter, take_charge);
}

static void refresh_meter(struct meter *meter)
{
        if (load_relaxed(&meter->is_ended))
                pool_bury(meter);
        else
                meter_follow(meter);
}

void meters_refresh(int row, bool is_dirty_only)
{
        uint32_t high = load_acquire(&meter_state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &meter_state.meters[i];

                if (!load_acquire(&meter->key) || (row >= 0 && load_relaxed(&meter->row) != row))
                        continue;
                if (!is_dirty_only || load_relaxed(&meter->is_dirty))
                        refresh_meter(meter);
        }
}

static void trim_pools(int row)
{
        scoped_relaxed struct relaxed was = relax();
        uint32_t high = load_acquire(&meter_state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &meter_state.meters[i];
                uint64_t key;

                if (!load_acquire(&meter->key) || load_relaxed(&meter->row) != row)
                        continue;
                key = meter_hold(meter);
                if (key && load_relaxed(&meter->space) == SPACE_POOL)
                        real.cuMemPoolTrimTo((CUmemoryPool)(uintptr_t)key, 0);
                else if (key)
                        real.cuDeviceGraphMemTrim((CUdevice)key - 1);
                meter_let_go(meter);
                refresh_meter(meter);
        }
}

static bool has_meters(int row)
{
        uint32_t high = load_acquire(&meter_state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                if (load_acquire(&meter_state.meters[i].key) &&
                    load_relaxed(&meter_state.meters[i].row) == row)
                        return true;
        }
        return false;
}

bool meters_relieve(struct place place, unsigned step)
{
        if (step > 1 || (!load_relaxed(&shared_state.orphans_live) && !has_meters(place.row)))
                return false;
        if (step == 0) {
                orphans_sweep(place.row);
                meters_refresh(place.row, false);
        } else {
                trim_pools(place.row);
        }
        return true;
}
