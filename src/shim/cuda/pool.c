/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/pool.h"

#include "shim/clock.h"
#include "shim/cuda/graph.h"
#include "shim/cuda/measure.h"
#include "shim/cuda/real.h"
#include "shim/cuda/state.h"

/* An allocation without a grant waits to be alone: 20 ms at most. */
#define ENTER_SLEEP_NS 20000
#define ENTER_TRIES 1000u

struct meter *meter_find(enum charge_space space, uint64_t key)
{
        uint32_t high = load_acquire(&state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &state.meters[i];

                if (load_acquire(&meter->key) == key && load_relaxed(&meter->space) == (int)space)
                        return meter;
        }
        return NULL;
}

static struct meter *free_meter(void)
{
        uint32_t high = load_relaxed(&state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                if (!load_relaxed(&state.meters[i].key))
                        return &state.meters[i];
        }
        if (high == STATE_METERS)
                return NULL;
        store_release(&state.meters_high, high + 1);
        return &state.meters[high];
}

static struct meter *meter_make(enum charge_space space, uint64_t key, struct place place)
{
        struct meter *meter;

        if (place.row < 0)
                return NULL;
        lock_take(&state.meters_lock);
        meter = meter_find(space, key);
        if (!meter) {
                meter = free_meter();
                if (meter) {
                        store_relaxed(&meter->space, (int)space);
                        store_relaxed(&meter->row, place.row);
                        store_relaxed(&meter->device, place.device);
                        store_relaxed(&meter->is_dirty, 0);
                        meter->pending_bytes = 0;
                        store_relaxed(&meter->freed_stream, 0);
                        meter->calls = 0;
                        meter->is_alone = false;
                        meter->promised_bytes = 0;
                        meter->generation = 1;
                        store_release(&meter->key, key);
                }
        }
        lock_drop(&state.meters_lock);
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

static bool attribute(const struct meter *meter, bool is_used, uint64_t *ret)
{
        uint64_t key = load_relaxed(&meter->key);
        cuuint64_t bytes = 0;
        CUresult rc;

        if (load_relaxed(&meter->space) == SPACE_POOL)
                rc = real.cuMemPoolGetAttribute((CUmemoryPool)(uintptr_t)key,
                                                is_used ? CU_MEMPOOL_ATTR_USED_MEM_CURRENT
                                                        : CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                                &bytes);
        else
                rc = real.cuDeviceGetGraphMemAttribute(
                        (CUdevice)key - 1,
                        is_used ? CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT
                                : CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                        &bytes);
        if (rc == CUDA_SUCCESS)
                *ret = bytes;
        return rc == CUDA_SUCCESS;
}

bool meter_read(const struct meter *meter, uint64_t *ret_bytes)
{
        return attribute(meter, false, ret_bytes);
}

bool meter_is_used(const struct meter *meter)
{
        uint64_t used;

        return !attribute(meter, true, &used) || used > 0;
}

/* Under the meter's lock: the charge becomes `reserved`, grown from `grant`. What others have in
 * flight may already be part of what was read; their grants cover it. */
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
        } else if (reserved < held) {
                charge_trim(&kept, reserved);
        }
        held = kept.bytes;
        if (held)
                charge_keep(&kept, space, key);
        else
                charge_drop(&kept);
        meter->version++;
        return held >= reserved || reserved - held <= meter->pending_bytes;
}

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
                                add_pending(meter, -grant->bytes);
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

/* More is reserved than charge and grants cover: have the rest granted now. */
static bool grant_rest(struct meter *meter)
{
        uint64_t reserved, held;
        struct charge rest;

        if (!meter_read(meter, &reserved))
                return true;
        held = charge_held((enum charge_space)load_relaxed(&meter->space),
                           load_relaxed(&meter->key));
        if (reserved <= held)
                return true;
        if (!charge_begin(&rest, load_relaxed(&meter->row), reserved - held))
                return false;
        add_pending(meter, rest.bytes);
        return meter_settle(meter, &rest);
}

void meter_follow(struct meter *meter)
{
        if (!meter_settle(meter, NULL))
                grant_rest(meter);
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
        return place;
}

void meter_leave(struct charge *take_charge, bool is_used)
{
        /* Odd: no pool's handle. */
        static _Atomic uint64_t last_key = 1;

        if (is_used)
                charge_keep(take_charge, SPACE_POOL, add_relaxed(&last_key, 2));
        else
                charge_drop(take_charge);
}

void meter_reopen(CUmemoryPool pool, struct place place, struct charge *take_charge)
{
        struct meter *meter = meter_of_pool(pool, place);

        if (!meter) {
                meter_leave(take_charge, true);
                return;
        }
        add_pending(meter, take_charge->bytes);
        meter_settle(meter, take_charge);
}

static void refresh(struct meter *meter)
{
        if (load_relaxed(&meter->space) == SPACE_POOL)
                meter_follow(meter);
        else
                graph_refresh(meter);
}

void meters_refresh(int row, bool is_dirty_only)
{
        uint32_t high = load_acquire(&state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &state.meters[i];

                if (!load_acquire(&meter->key) || (row >= 0 && load_relaxed(&meter->row) != row))
                        continue;
                if (!is_dirty_only || load_relaxed(&meter->is_dirty))
                        refresh(meter);
        }
}

static void trim(int row)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        uint32_t high = load_acquire(&state.meters_high);

        /* A capture elsewhere in the process must not be broken by what we do behind its back. */
        real.cuThreadExchangeStreamCaptureMode(&mode);
        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &state.meters[i];
                uint64_t key = load_acquire(&meter->key);

                if (!key || load_relaxed(&meter->row) != row)
                        continue;
                if (load_relaxed(&meter->space) == SPACE_POOL)
                        real.cuMemPoolTrimTo((CUmemoryPool)(uintptr_t)key, 0);
                else
                        real.cuDeviceGraphMemTrim((CUdevice)key - 1);
                refresh(meter);
        }
        real.cuThreadExchangeStreamCaptureMode(&mode);
}

static bool has_meters(int row)
{
        uint32_t high = load_acquire(&state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                if (load_acquire(&state.meters[i].key) && load_relaxed(&state.meters[i].row) == row)
                        return true;
        }
        return false;
}

bool pool_relieve(struct place place, unsigned step)
{
        if (step > 1 || !has_meters(place.row))
                return false;
        if (step == 0)
                meters_refresh(place.row, false);
        else
                trim(place.row);
        return true;
}

/* An allocation in a stream that is being captured becomes a node: charged when it is launched. */
static bool is_capturing(CUstream stream)
{
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

        return real.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
               status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static bool is_default_pool(CUmemoryPool pool, CUdevice device)
{
        CUmemoryPool known;

        if (real.cuDeviceGetDefaultMemPool(&known, device) == CUDA_SUCCESS && known == pool)
                return true;
        return real.cuDeviceGetMemPool(&known, device) == CUDA_SUCCESS && known == pool;
}

/* The device of a pool that was not made before our eyes. */
static struct place place_of_pool(CUmemoryPool pool, struct place otherwise)
{
        int count = 0;

        if (real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
                return otherwise;
        for (CUdevice device = 0; device < count; device++) {
                if (is_default_pool(pool, device))
                        return place_of_device(device);
        }
        return otherwise;
}

/* A pool on the host has no meter; a pool that cannot be told is an error, never free of charge. */
static CUresult find_meter(struct growth *growth, CUmemoryPool pool)
{
        struct place place = growth->place;
        CUresult rc = CUDA_SUCCESS;
        bool is_given = pool != NULL;

        if (!is_given)
                rc = real.cuDeviceGetMemPool(&pool, place.device);
        if (rc != CUDA_SUCCESS)
                return rc;
        growth->meter = meter_find(SPACE_POOL, key_of(pool));
        if (growth->meter)
                return CUDA_SUCCESS;
        if (is_given)
                place = place_of_pool(pool, place);
        growth->meter = meter_of_pool(pool, place);
        return growth->meter || place.row < 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Into the pool with an allocation: together with others, or alone. Waits for as long as a call of
 * the driver takes; false when it is never alone. */
static bool enter(struct growth *growth, bool is_alone)
{
        struct meter *meter = growth->meter;

        for (unsigned i = 0; i < ENTER_TRIES || !is_alone; i++) {
                bool is_in;

                lock_take(&meter->lock);
                is_in = !meter->is_alone && (!is_alone || meter->calls == 0);
                if (is_in) {
                        meter->calls++;
                        meter->is_alone = is_alone;
                        growth->is_alone = is_alone;
                }
                lock_drop(&meter->lock);
                if (is_in)
                        return true;
                clock_sleep_ns(ENTER_SLEEP_NS);
        }
        return false;
}

static void leave(struct growth *growth)
{
        struct meter *meter = growth->meter;

        lock_take(&meter->lock);
        meter->calls--;
        meter->is_alone = false;
        lock_drop(&meter->lock);
}

/* Does the request fit in what the pool has already? */
static bool fits(const struct growth *growth)
{
        uint64_t reserved, used;

        return attribute(growth->meter, false, &reserved) &&
               attribute(growth->meter, true, &used) && reserved >= used &&
               reserved - used >= growth->bytes;
}

static bool grant(struct growth *growth, uint64_t bytes)
{
        if (!charge_begin(&growth->charge, load_relaxed(&growth->meter->row), bytes))
                return false;
        add_pending(growth->meter, bytes);
        enter(growth, false);
        return true;
}

/* What was freed in another stream and not waited for does not serve this one. Asked after fits():
 * a free is marked before it is made. */
static bool is_free_here(const struct growth *growth)
{
        uint64_t freed = load_relaxed(&growth->meter->freed_stream);

        return freed == 0 || freed == stream_key(growth->stream);
}

static bool do_without(struct growth *growth)
{
        if (!fits(growth) || !enter(growth, true))
                return false;
        if (fits(growth) && is_free_here(growth) &&
            charge_begin(&growth->charge, load_relaxed(&growth->meter->row), 0))
                return true;
        leave(growth);
        return false;
}

/* The next grant; false: refused. What fits in the pool already needs none. */
static bool next_rung(struct growth *growth)
{
        uint64_t most = measure_pool_growth(growth->bytes);

        for (;;) {
                switch (growth->rung++) {
                case 0:
                        if (grant(growth, most))
                                return true;
                        break;
                case 1:
                case 3:
                        pool_relieve(growth->place, growth->rung == 2 ? 0 : 1);
                        if (grant(growth, most))
                                return true;
                        break;
                case 2:
                case 4:
                        if (do_without(growth))
                                return true;
                        break;
                default:
                        return false;
                }
        }
}

CUresult growth_begin(struct growth *ret, const struct growth_request *request)
{
        CUresult rc;

        *ret = (struct growth){ .stream = request->stream, .bytes = request->bytes };
        charge_begin(&ret->charge, CHARGE_NO_DEVICE, 0);
        ret->place = place_of_stream(request->stream);
        if (ret->place.row == SESSION_NO_ROW)
                return CUDA_ERROR_NOT_PERMITTED;
        if (ret->place.row < 0 || !request->bytes || is_capturing(request->stream))
                return CUDA_SUCCESS;
        rc = find_meter(ret, request->pool);
        if (!ret->meter)
                return rc;
        ret->place.row = load_relaxed(&ret->meter->row);
        return next_rung(ret) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The pool grew beyond the grant and the limit has no room: undo. The memory goes back only when
 * the free has been executed, so the stream is waited for: this is the way to an out-of-memory. */
static void give_back(struct growth *growth, CUdeviceptr address)
{
        CUmemoryPool pool = (CUmemoryPool)(uintptr_t)load_relaxed(&growth->meter->key);

        real.cuMemFreeAsync(address, growth->stream);
        real.cuStreamSynchronize(growth->stream);
        real.cuMemPoolTrimTo(pool, 0);
        meter_settle(growth->meter, NULL);
}

bool growth_end(struct growth *growth, CUresult *rc, CUdeviceptr *address)
{
        if (!growth->meter) {
                charge_drop(&growth->charge);
                return true;
        }
        if (meter_settle(growth->meter, &growth->charge) || *rc != CUDA_SUCCESS ||
            grant_rest(growth->meter)) {
                leave(growth);
                return true;
        }
        give_back(growth, *address);
        leave(growth);
        *rc = next_rung(growth) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        return *rc != CUDA_SUCCESS;
}

uint64_t pool_frees(void)
{
        return load_relaxed(&state.frees);
}

void pool_freeing(CUstream stream)
{
        uint32_t high = load_relaxed(&state.meters_high);
        uint64_t key = stream_key(stream);

        if (!high)
                return;
        add_acq_rel(&state.frees, 1);
        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &state.meters[i];
                uint64_t freed = load_relaxed(&meter->freed_stream);

                store_relaxed(&meter->is_dirty, 1);
                if (freed != key)
                        store_relaxed(&meter->freed_stream, freed ? MANY_STREAMS : key);
        }
}

/* A pool stays dirty as long as it holds more than is used: the free may be in another stream. */
static void look_again(struct meter *meter)
{
        uint64_t reserved, used;

        meter_settle(meter, NULL);
        if (meter_read(meter, &reserved) && attribute(meter, true, &used) && reserved <= used)
                store_relaxed(&meter->is_dirty, 0);
}

void pool_synchronised(CUstream stream, uint64_t frees)
{
        uint32_t high = load_acquire(&state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &state.meters[i];

                if (!load_acquire(&meter->key) || !load_relaxed(&meter->is_dirty) ||
                    load_relaxed(&meter->space) != SPACE_POOL)
                        continue;
                if (frees == pool_frees() &&
                    (stream == POOL_CONTEXT ||
                     load_relaxed(&meter->freed_stream) == stream_key(stream)))
                        store_relaxed(&meter->freed_stream, 0);
                look_again(meter);
        }
}

void pool_freed_at_once(void)
{
        uint32_t high = load_acquire(&state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &state.meters[i];

                if (!load_acquire(&meter->key) || load_relaxed(&meter->space) != SPACE_POOL)
                        continue;
                store_relaxed(&meter->is_dirty, 1);
                look_again(meter);
        }
}
