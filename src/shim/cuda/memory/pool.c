/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/memory/pool.h"

#include "common/clock.h"
#include "shim/cuda/charge/import.h"
#include "shim/cuda/charge/pool_end.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/measure/measure.h"
#include "shim/cuda/state/meters.h"
#include "shim/cuda/stream/ask.h"

/* An allocation without a grant waits to be alone, and before a refusal for the calls of others: 20
 * ms at most. */
#define ENTER_SLEEP_NS 20000
#define ENTER_TRIES 1000u

/* False: the driver does not say; so for a device without pools. */
static bool pool_of(CUmemoryPool *ret, CUdevice device,
                    CUresult (*ask)(CUmemoryPool *ret, CUdevice device))
{
        CUresult rc = ask(ret, device);

        if (rc != CUDA_SUCCESS)
                *ret = NULL;
        return rc == CUDA_SUCCESS || rc == CUDA_ERROR_NOT_SUPPORTED;
}

/* The device of a pool that was not made before our eyes. */
static struct place place_of_pool(CUmemoryPool pool, struct place otherwise)
{
        const struct place unknown = { .row = SESSION_NO_ROW, .device = -1 };
        CUmemoryPool first, now;
        int count = 0;

        if (real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
                return unknown;
        for (CUdevice device = 0; device < count; device++) {
                if (!pool_of(&first, device, real.cuDeviceGetDefaultMemPool) ||
                    !pool_of(&now, device, real.cuDeviceGetMemPool))
                        return unknown;
                if (pool == first || pool == now)
                        return place_of_device(device);
        }
        return otherwise;
}

/* An unknown pool is an error, never free of charge. */
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
        if (place.row < 0)
                return refusal(place);
        growth->meter = meter_of_pool(pool, place);
        return growth->meter ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Into the pool with an allocation: together with others, or alone. Waits for as long as a call of
 * the driver takes; false when it is never alone. */
static bool enter_pool(struct growth *growth, bool is_alone)
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

/* The thread that was alone kept the pool's charge from falling: lets it fall now. */
static void leave_pool(struct growth *growth)
{
        struct meter *meter = growth->meter;

        lock_take(&meter->lock);
        meter->calls--;
        meter->granted -= !growth->is_alone;
        meter->is_alone = false;
        lock_drop(&meter->lock);
        if (growth->is_alone)
                meter_settle(meter, NULL);
}

/* Whether the request fits in the pool's present memory. */
static bool fits_in_pool(const struct growth *growth)
{
        uint64_t reserved, used;

        return meter_read(growth->meter, &reserved) && meter_read_used(growth->meter, &used) &&
               reserved >= used && reserved - used >= growth->bytes;
}

/* Under the meter's lock, so that a refusal knows which threads had a grant at that instant. */
static bool grant_growth(struct growth *growth, uint64_t bytes)
{
        struct meter *meter = growth->meter;
        bool is_granted;

        import_claim(growth->place.row);
        lock_take(&meter->lock);
        is_granted = charge_begin(&growth->charge, load_relaxed(&meter->row), bytes);
        growth->is_final = !is_granted && meter->granted == 0;
        if (is_granted) {
                meter->pending_bytes += bytes;
                meter->granted++;
        }
        lock_drop(&meter->lock);
        if (is_granted)
                enter_pool(growth, false);
        return is_granted;
}

/* Memory that was freed in another stream, without a wait for it, does not serve this stream.
 * Checked after fits_in_pool(): a free is marked before it is made. */
static bool is_free_here(const struct growth *growth)
{
        uint64_t freed = load_relaxed(&growth->meter->freed_stream);

        return freed == 0 || freed == stream_key(growth->stream);
}

static bool grant_at_once(struct growth *growth, uint64_t bytes)
{
        remainder_tend(growth->place.row, bytes);
        return grant_growth(growth, bytes);
}

static bool grant_after(struct growth *growth, unsigned relief, uint64_t bytes)
{
        meters_relieve(growth->place, relief);
        remainder_relieve(growth->place.row);
        return grant_growth(growth, bytes);
}

static bool grant_after_reading(struct growth *growth, uint64_t bytes)
{
        return grant_after(growth, 0, bytes);
}

static bool grant_after_trimming(struct growth *growth, uint64_t bytes)
{
        return grant_after(growth, 1, bytes);
}

/* What fits in the pool already needs no grant. */
static bool do_without(struct growth *growth, uint64_t bytes)
{
        (void)bytes;
        if (!fits_in_pool(growth) || !enter_pool(growth, true))
                return false;
        if (fits_in_pool(growth) && is_free_here(growth) &&
            charge_begin(&growth->charge, load_relaxed(&growth->meter->row), 0))
                return true;
        leave_pool(growth);
        return false;
}

/* Grants are upper bounds, so those of other threads may leave no room: waits for these threads. */
static bool grant_in_time(struct growth *growth, uint64_t bytes)
{
        remainder_tend(growth->place.row, bytes);
        for (unsigned i = 0; i < ENTER_TRIES; i++) {
                if (grant_growth(growth, bytes))
                        return true;
                if (growth->is_final)
                        return false;
                clock_sleep_ns(ENTER_SLEEP_NS);
        }
        return false;
}

static bool grant_plain(struct growth *growth, uint64_t bytes)
{
        (void)bytes;
        return plain_begin(growth);
}

/* Ways to a grant of `bytes`, each dearer for the program or for others than those before it. */
static bool (*const steps[])(struct growth *growth, uint64_t bytes) = {
        grant_at_once, grant_after_reading, do_without,  grant_after_trimming,
        do_without,    grant_in_time,       grant_plain,
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static bool await_room(struct growth *growth, uint64_t bytes)
{
        struct room_want want = { growth->place.row, bytes, ROOM_OF_PINNED, false };

        return reserve_await(&growth->wait, &want);
}

/* The next grant, from the step after the last one that was tried; false: refused. */
static bool grant_next(struct growth *growth)
{
        uint64_t bytes = measure_pool_growth(growth->bytes);

        do {
                while (growth->step < STEPS) {
                        if (steps[growth->step++](growth, bytes))
                                return true;
                }
                growth->step = 0;
        } while (await_room(growth, bytes));
        charge_note_refused(growth->place.row);
        return false;
}

/* The device, and the pool's meter, of what is to be charged. */
static CUresult find_place(struct growth *growth, CUmemoryPool pool)
{
        CUresult rc;

        growth->place = place_of_stream(growth->stream);
        if (!growth->bytes)
                return CUDA_SUCCESS;
        if (growth->place.row == SESSION_NO_ROW)
                return refusal(growth->place);
        if (growth->place.row < 0)
                return CUDA_SUCCESS;
        /* While the stream is captured an allocation becomes a node: charged when it is launched.
         */
        growth->capture = capture_hold(growth->stream);
        rc = find_meter(growth, pool);
        if (growth->capture)
                return CUDA_SUCCESS;
        if (growth->meter)
                growth->place.row = load_relaxed(&growth->meter->row);
        return rc;
}

struct growth growth_begin(CUdeviceptr *ret, struct growth_request request)
{
        struct growth growth = { .stream = request.stream,
                                 .ret = ret,
                                 .bytes = ret ? request.bytes : 0 };

        access_begin();
        charge_begin(&growth.charge, CHARGE_NO_DEVICE, 0);
        growth.rc = find_place(&growth, request.pool);
        return growth;
}

static void free_at_once(const struct growth *growth, CUdeviceptr address)
{
        scoped_relaxed struct relaxed was = relax();

        real.cuMemFreeAsync(address, growth->stream);
        real.cuStreamSynchronize(growth->stream);
        real.cuMemPoolTrimTo((CUmemoryPool)(uintptr_t)load_relaxed(&growth->meter->key), 0);
}

/* The pool grew beyond the grant and the limit has no room: undo. The memory goes back only when
 * the free has been executed, so the stream is waited for: this is the way to an out-of-memory. */
static void give_back(struct growth *growth, CUdeviceptr address)
{
        free_at_once(growth, address);
        meter_settle(growth->meter, NULL);
}

/* A request that was not captured after all is charged like other memory that the driver has: above
 * the limit if needed, because others may use the pool. */
static void captured_end(struct growth *growth, CUresult rc)
{
        struct meter *meter = growth->meter;

        charge_drop(&growth->charge);
        if (capture_let_go(growth->stream, growth->capture) || rc != CUDA_SUCCESS || !meter)
                return;
        store_relaxed(&meter->is_dirty, 1);
        if (!meter_grant_rest(meter))
                meter_follow(meter);
}

/* False: the pool grew beyond the grant, and the limit has no room for that. */
static bool settle_growth(struct growth *growth)
{
        if (growth->capture) {
                captured_end(growth, growth->rc);
        } else if (!growth->meter) {
                charge_drop(&growth->charge);
        } else {
                if (!meter_settle(growth->meter, &growth->charge) && growth->rc == CUDA_SUCCESS &&
                    !meter_grant_rest(growth->meter))
                        return false;
                leave_pool(growth);
        }
        return true;
}

/* The next grant is there; false: it is over, refused or served with plain memory. */
static bool begin_call(struct growth *growth)
{
        if (!grant_next(growth)) {
                growth->rc = CUDA_ERROR_OUT_OF_MEMORY;
                return false;
        }
        if (growth->is_plain)
                plain_take(growth);
        return !growth->is_plain;
}

/* A call with a grant; again with the same while memory of a dead process drains; and with the next
 * grant when the pool grew beyond this one. */
bool growth_goes_on(struct growth *growth)
{
        bool is_first = !growth->is_called;

        growth->is_called = true;
        if (is_first && growth->rc != CUDA_SUCCESS)
                return false;
        if (is_first)
                return !growth->meter || growth->capture || begin_call(growth);
        if (is_draining(&growth->charge, growth->rc, &growth->attempt))
                return true;
        growth->attempt = 0;
        if (settle_growth(growth))
                return false;
        give_back(growth, *growth->ret);
        leave_pool(growth);
        return begin_call(growth);
}

uint64_t pool_frees(void)
{
        return load_relaxed(&meter_state.frees);
}

void pool_freeing(CUstream stream)
{
        uint32_t high = load_relaxed(&meter_state.meters_high);
        uint64_t key = stream_key(stream);

        if (!high)
                return;
        add_acq_rel(&meter_state.frees, 1);
        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &meter_state.meters[i];
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

        if (load_relaxed(&meter->is_ended)) {
                pool_bury(meter);
                return;
        }
        meter_settle(meter, NULL);
        if (meter_read(meter, &reserved) && meter_read_used(meter, &used) && reserved <= used)
                store_relaxed(&meter->is_dirty, 0);
}

void pool_synchronised(CUstream stream, uint64_t frees)
{
        uint32_t high = load_acquire(&meter_state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &meter_state.meters[i];

                if (!load_acquire(&meter->key) || !load_relaxed(&meter->is_dirty) ||
                    load_relaxed(&meter->space) != SPACE_POOL)
                        continue;
                if (frees == pool_frees() &&
                    (stream == TOLD_CONTEXT ||
                     load_relaxed(&meter->freed_stream) == stream_key(stream)))
                        store_relaxed(&meter->freed_stream, 0);
                look_again(meter);
        }
}

void pool_freed_at_once(void)
{
        uint32_t high = load_acquire(&meter_state.meters_high);

        for (uint32_t i = 0; i < high; i++) {
                struct meter *meter = &meter_state.meters[i];

                if (!load_acquire(&meter->key) || load_relaxed(&meter->space) != SPACE_POOL)
                        continue;
                store_relaxed(&meter->is_dirty, 1);
                look_again(meter);
        }
}
