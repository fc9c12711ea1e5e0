/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/place/front.h"

#include <errno.h>
#include <string.h>

#include "common/atomic.h"
#include "shim/attach.h"
#include "shim/cards.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/state/places.h"
#include "shim/cuda/state/state.h"
#include "shim/hold.h"

/* Added to a row in place_state.rows, so that 0 means "not known yet" and negative rows stay above
 * 0. */
#define ROW_KNOWN 16

/* Returns a place that is refused. `answer` is the program's result; CUDA_SUCCESS: not
 * permitted. */
static struct place place_refused(CUresult answer)
{
        return (struct place){ .row = SESSION_NO_ROW, .device = -1, .answer = answer };
}

const struct place place_nowhere = { .row = CHARGE_NO_DEVICE, .device = -1 };

static CUresult device_uuid(CUuuid *ret, CUdevice device)
{
        CUresult rc = real.cuDeviceGetUuid_v2(ret, device);

        return rc == CUDA_SUCCESS ? rc : real.cuDeviceGetUuid(ret, device);
}

/* Lists the cards that this process sees, in CUDA's order. Used if NVML is not available. */
static int list_seen(struct session_gpu *ret, size_t max)
{
        int count;
        CUuuid uuid;
        size_t bytes = 0;

        if (real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
                return -1;
        if (count > (int)max)
                count = (int)max;
        for (int i = 0; i < count; i++) {
                if (device_uuid(&uuid, i) != CUDA_SUCCESS)
                        return -1;
                if (real.cuDeviceTotalMem_v2(&bytes, i) != CUDA_SUCCESS)
                        return -1;
                ret[i] = (struct session_gpu){ .card_bytes = bytes };
                memcpy(ret[i].uuid, uuid.bytes, sizeof(ret[i].uuid));
        }
        return count;
}

/* Lists the machine's cards, through NVML if possible. Keeps NVML open, because it will be asked
 * how much memory this process holds. */
static int list_cards(struct session_gpu *ret, size_t max)
{
        int count = cards_keep_open() ? cards_list(ret, max) : -1;

        return count >= 0 ? count : list_seen(ret, max);
}

bool front_start(void)
{
        int saved = errno;

        state_mark();
        if (session_state() == SESSION_UNKNOWN)
                session_start(list_cards);
        hold_use();
        errno = saved;
        return session_state() != SESSION_BROKEN;
}

/* Whether the driver itself reports that there is no such device. Then it will refuse every call
 * for that device. */
static bool is_no_device(CUdevice device)
{
        int count;
        CUresult rc = real.cuDeviceGetCount(&count);

        return rc == CUDA_ERROR_NOT_INITIALIZED ||
               (rc == CUDA_SUCCESS && (device < 0 || device >= count));
}

/* Claims a row for a device that the session does not know yet. SESSION_NO_ROW: the driver does not
 * report the device's memory size. */
static int row_claim(CUdevice device, const CUuuid *uuid)
{
        size_t card_bytes;

        return real.cuDeviceTotalMem_v2(&card_bytes, device) == CUDA_SUCCESS
                       ? session_device((const uint8_t *)uuid->bytes, card_bytes)
                       : SESSION_NO_ROW;
}

/* Asks the driver for the row of a device. A device whose UUID the driver does not report is
 * refused, because its limit is unknown. */
static int row_ask(CUdevice device)
{
        CUuuid uuid;
        int row;

        if (!front_start())
                return SESSION_NO_ROW;
        if (session_state() == SESSION_NONE)
                return CHARGE_NO_DEVICE;
        if (device < 0 || device >= STATE_DEVICES || device_uuid(&uuid, device) != CUDA_SUCCESS)
                return is_no_device(device) ? CHARGE_NO_DEVICE : SESSION_NO_ROW;
        row = session_find_device((const uint8_t *)uuid.bytes);
        if (row < 0)
                row = row_claim(device, &uuid);
        if (row >= 0)
                store_relaxed(&place_state.rows[device], row + ROW_KNOWN);
        return row;
}

uint64_t front_own_bytes(int row)
{
        struct process *process = process_here();
        uint32_t slot;

        if (!process || row < 0)
                return 0;
        slot = load_acquire(&process->slot_plus_one);
        return slot ? page_row_bytes(session_slots(), slot - 1, (unsigned)row) : 0;
}

static int row_of(CUdevice device)
{
        int known = 0;

        if (session_state() == SESSION_NONE)
                return CHARGE_NO_DEVICE;
        if (device >= 0 && device < STATE_DEVICES)
                known = load_relaxed(&place_state.rows[device]);
        return known ? known - ROW_KNOWN : row_ask(device);
}

struct place place_of_device(CUdevice device)
{
        struct place place = { .row = row_of(device), .device = device };

        return place.row == CHARGE_NO_DEVICE ? place_nowhere : place;
}

static struct state_seat *seat_find(CUcontext context)
{
        uint32_t high = load_acquire(&place_state.seats_high);

        for (uint32_t i = 0; i < high; i++) {
                if (load_acquire(&place_state.seats[i].context) == key_of(context))
                        return &place_state.seats[i];
        }
        return NULL;
}

static struct place seat_read(struct state_seat *seat)
{
        return (struct place){ .row = load_relaxed(&seat->row),
                               .owner = load_relaxed(&seat->owner),
                               .device = load_relaxed(&seat->device) };
}

/* Stores the place of a context in a free seat (entry of the table of contexts), or returns the
 * place that is already stored. `place.owner` 0: takes a new number. If there is no free seat, the
 * context stays without a number. */
static struct place seat_take(CUcontext context, struct place place)
{
        struct state_seat *seat;

        lock_take(&place_state.seats_lock);
        seat = seat_find(context);
        if (seat) {
                place = seat_read(seat);
                lock_drop(&place_state.seats_lock);
                return place;
        }
        seat = seat_find(NULL);
        if (!seat && load_relaxed(&place_state.seats_high) < STATE_SEATS)
                seat = &place_state.seats[load_relaxed(&place_state.seats_high)];
        if (seat) {
                place.owner = place.owner ? place.owner : ++place_state.last_owner;
                store_relaxed(&seat->row, place.row);
                store_relaxed(&seat->owner, place.owner);
                store_relaxed(&seat->device, place.device);
                store_release(&seat->context, key_of(context));
                if (seat == &place_state.seats[load_relaxed(&place_state.seats_high)])
                        store_release(&place_state.seats_high,
                                      load_relaxed(&place_state.seats_high) + 1);
        }
        lock_drop(&place_state.seats_lock);
        return place;
}

/* Asks the driver for the place of `context`, which is current. */
static struct place place_ask(CUcontext context)
{
        CUdevice device;
        struct place place;
        CUresult rc = real.cuCtxGetDevice(&device);

        if (rc != CUDA_SUCCESS)
                return place_refused(rc);
        place = place_of_device(device);
        /* The context is current, so its device exists: a device without a row is refused. The
         * refusal is not stored, so that a later try may find the row. */
        if (place.row == CHARGE_NO_DEVICE && session_state() == SESSION_ACTIVE)
                return place_refused(CUDA_SUCCESS);
        return place.row < 0 ? place : seat_take(context, place);
}

struct place place_here(void)
{
        CUcontext context = NULL;
        struct state_seat *seat;
        CUresult rc;

        if (session_state() == SESSION_NONE)
                return place_nowhere;
        rc = real.cuCtxGetCurrent(&context);
        if (rc != CUDA_SUCCESS)
                return place_refused(rc);
        if (!context)
                return place_refused(CUDA_ERROR_INVALID_CONTEXT);
        seat = seat_find(context);
        return seat ? seat_read(seat) : place_ask(context);
}

struct place place_of_context(CUcontext context)
{
        struct state_seat *seat = seat_find(context);
        struct place place;
        CUcontext popped;
        CUresult rc;

        if (seat)
                return seat_read(seat);
        rc = real.cuCtxPushCurrent_v2(context);
        if (rc != CUDA_SUCCESS)
                return place_refused(rc);
        place = place_ask(context);
        real.cuCtxPopCurrent_v2(&popped);
        return place;
}

/* A thread's own default stream gets a number that no later thread gets, because the address of a
 * thread's data may be reused. These numbers are smaller than any address, so they differ from the
 * handles of other streams. */
#define NUMBER_SHIFT 4

uint64_t stream_key(CUstream stream)
{
        static _Atomic uint64_t threads;
        static _Thread_local uint64_t number __attribute__((tls_model("initial-exec")));

        if (stream != CU_STREAM_PER_THREAD)
                return key_of(stream);
        if (!number)
                number = add_relaxed(&threads, 1) + 1;
        return number << NUMBER_SHIFT;
}

enum site site_of(const CUmemLocation *location, CUdevice *ret)
{
        switch (location->type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
                *ret = location->id;
                return SITE_CARD;
        case CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN: /* a part of one card's memory */
                *ret = location->localized.deviceId;
                return SITE_CARD;
        case CU_MEM_LOCATION_TYPE_NONE:
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        case CU_MEM_LOCATION_TYPE_INVISIBLE:
                return SITE_ELSEWHERE;
        default:
                return SITE_UNKNOWN;
        }
}

struct place place_of_stream(CUstream stream)
{
        CUcontext context = NULL;
        CUdevice device;
        CUresult rc;

        if (session_state() == SESSION_NONE)
                return place_nowhere;
        if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
                return place_here();
        rc = real.cuStreamGetCtx(stream, &context);
        if (rc == CUDA_SUCCESS && context)
                return place_of_context(context);
        if (rc != CUDA_SUCCESS && rc != CUDA_ERROR_NOT_SUPPORTED)
                return place_refused(rc);
        /* A stream of a green context. If the driver cannot report its device, the current context
         * counts. */
        if (real.cuStreamGetDevice(stream, &device) == CUDA_SUCCESS)
                return place_of_device(device);
        return place_here();
}

struct place place_seated(CUcontext context, struct place place)
{
        return place.row < 0 ? place : seat_take(context, place);
}

struct place place_forget(CUcontext context)
{
        struct place place = place_nowhere;
        struct state_seat *seat;

        if (session_state() == SESSION_NONE || !context)
                return place_nowhere;
        lock_take(&place_state.seats_lock);
        seat = seat_find(context);
        if (seat) {
                place = seat_read(seat);
                store_release(&seat->context, 0);
        }
        lock_drop(&place_state.seats_lock);
        return place;
}

void place_restore(CUcontext context, struct place place)
{
        if (place.owner)
                seat_take(context, place);
}

CUresult refusal(struct place place)
{
        return place.answer ? place.answer : CUDA_ERROR_NOT_PERMITTED;
}
