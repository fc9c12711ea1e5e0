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

/* How long an allocation waits until it is alone in its pool, or until grants of other threads are
 * released before a refusal: 20 ms at most. */
#define ENTER_SLEEP_NS 20000
#define ENTER_TRIES 1000u

/* Asks the driver for a pool of a device. `*ret` is NULL for a device without pools. False: the
 * driver failed. */
static bool pool_of(CUmemoryPool *ret, CUdevice device,
                    CUresult (*ask)(CUmemoryPool *ret, CUdevice device))
{
        CUresult rc = ask(ret, device);

        if (rc != CUDA_SUCCESS)
                *ret = NULL;
        return rc == CUDA_SUCCESS || rc == CUDA_ERROR_NOT_SUPPORTED;
}

/* Returns the place of a pool whose creation was not seen: that of the device whose default or
 * current pool it is. `otherwise`: it is no device's. */
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

/* Finds the meter of the pool. An unknown pool is an error, because its memory must not be free of
 * charge. */
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

/* Counts an allocation as in flight in its pool, together with others or alone. Waits as long as
 * another thread's driver call takes. False: other allocations are in flight all the time, so it
 * cannot be alone. */
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

/* Ends what enter_pool() began. An allocation that was alone kept the pool's charge from falling,
 * so the charge is corrected now. */
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

/* Whether the request fits into the unused memory that the pool has now. */
static bool fits_in_pool(const struct growth *growth)
{
        uint64_t reserved, used;

        return meter_read(growth->meter, &reserved) && meter_read_used(growth->meter, &used) &&
               reserved >= used && reserved - used >= growth->bytes;
}

/* Reserves a grant. Under the meter's lock, so that a refusal knows whether another thread had a
 * grant at that instant. */
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

/* Whether this stream may reuse the pool's freed memory. False if memory was freed in another
 * stream and no wait for that free is known. Checked after fits_in_pool(), because a free is noted
 * before it is made. */
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

/* Begins without a grant, because the request fits into the unused memory of the pool. */
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

/* Waits for a grant. Grants are upper bounds, so the grants of other threads may leave no room
 * until their calls are over. */
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

/* Ways to get a grant of `bytes`. Each costs the program or other programs more than the ones
 * before it. */
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

/* Gets the next grant, beginning with the step after the last one that was tried. False:
 * refused. */
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

/* Finds the device to charge and the pool's meter. */
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
        /* While the stream is captured, an allocation becomes a graph node, which is charged when
         * the graph is launched. */
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

/* Undoes an allocation by which the pool grew beyond the grant, and for which the limit has no
 * room. The pool releases the memory only after the free is executed, so this waits for the stream;
 * the program gets out-of-memory. */
static void give_back(struct growth *growth, CUdeviceptr address)
{
        free_at_once(growth, address);
        meter_settle(growth->meter, NULL);
}

/* Ends an allocation that began during a capture. If the stream was not captured any more, the
 * memory is charged, even above the limit, because the driver has it already and other streams may
 * use the pool. */
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

/* Settles the charge after the driver call. False: the pool grew beyond the grant, and the limit
 * has no room for that. */
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

/* Gets the next grant. True: call the driver with it. False: the request is refused, or was served
 * with plain memory. */
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

/* Whether to call the driver, with a grant. Again with the same grant while memory of a dead
 * process drains, and with the next grant if the pool grew beyond this one. */
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

/* Reads a pool after a wait. It stays dirty as long as it has more reserved than used, because a
 * free in another stream may not be executed yet. */
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
