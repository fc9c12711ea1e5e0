/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/charge/reserve.h"

#include "shim/cuda/charge/import.h"
#include "shim/cuda/charge/meter.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/stream/access.h"
#include "shim/time/time.h"

/* A request of either kind, and the charge to fill. */
struct reserve_request {
        enum room_kind kind;
        union {
                struct charge *pinned;
                struct charge_swappable *swappable;
        } charge;
        struct place place;
        uint64_t bytes;
};

static bool grant_pinned(const struct reserve_request *request)
{
        struct charge *charge = request->charge.pinned;

        if (!charge_begin(charge, request->place.row, request->bytes))
                return false;
        charge->owner = request->place.owner;
        return true;
}

static bool grant_swappable(const struct reserve_request *request)
{
        struct charge_swappable *charge = request->charge.swappable;

        if (!charge_begin_swappable(charge, request->place.row, request->bytes))
                return false;
        charge->card.owner = charge->swap.owner = request->place.owner;
        return true;
}

static bool grant_request(const struct reserve_request *request)
{
        bool is_granted = request->kind == ROOM_OF_SWAPPABLE ? grant_swappable(request)
                                                             : grant_pinned(request);

        if (is_granted)
                remainder_granted(request->place.row, request->bytes);
        return is_granted;
}

static bool grant_or_relieve(const struct reserve_request *request)
{
        struct place place = request->place;

        if (request->bytes) {
                remainder_tend(place.row, request->bytes);
                import_claim(place.row);
        }
        if (grant_request(request) || (remainder_relieve(place.row) && grant_request(request)))
                return true;
        for (unsigned step = 0; meters_relieve(place, step); step++) {
                if (grant_request(request))
                        return true;
        }
        return false;
}

bool reserve_await(struct room_wait *wait, struct room_want *want)
{
        bool is_again;

        if (want->row < 0 || want->row != room_rows().card || !access_pause())
                return false;
        /* The daemon forgets a request for room that is not repeated, so go on while the gate is
         * closed. */
        do {
                want->is_held = gate_is_shut();
                is_again = room_wait(wait, want);
                streams_mark_in_hold();
        } while (is_again && gate_is_shut());
        access_resume();
        return is_again;
}

bool reserve_again(struct room_wait *wait, struct place place, uint64_t bytes)
{
        struct room_want want = { .row = place.row, .bytes = bytes, .kind = ROOM_OF_PINNED };

        if (reserve_await(wait, &want))
                return true;
        charge_note_refused(place.row);
        return false;
}

static CUresult reserve_in_time(const struct reserve_request *request)
{
        struct room_want want = { .row = request->place.row,
                                  .bytes = request->bytes,
                                  .kind = request->kind };
        struct room_wait wait = { 0 };

        do {
                if (grant_or_relieve(request))
                        return CUDA_SUCCESS;
        } while (reserve_await(&wait, &want));
        return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Refuses a request on an unknown device. A request of 0 bytes goes on if the driver itself failed
 * to report the device, so that the driver reports the error. */
static CUresult reserve_nowhere(struct charge *ret, struct place place, uint64_t bytes)
{
        charge_begin(ret, CHARGE_NO_DEVICE, 0);
        return place.answer && !bytes ? CUDA_SUCCESS : refusal(place);
}

CUresult reserve_at_once(struct charge *ret, struct place place, uint64_t bytes)
{
        struct reserve_request request = {
                .kind = ROOM_OF_PINNED, .charge.pinned = ret, .place = place, .bytes = bytes
        };

        if (place.row == SESSION_NO_ROW)
                return reserve_nowhere(ret, place, bytes);
        return grant_or_relieve(&request) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult reserve_at_first(struct charge *ret, struct place place, uint64_t bytes)
{
        struct reserve_request request = {
                .kind = ROOM_OF_PINNED, .charge.pinned = ret, .place = place, .bytes = bytes
        };

        if (place.row == SESSION_NO_ROW)
                return reserve_nowhere(ret, place, bytes);
        return reserve_in_time(&request);
}

CUresult reserve_at(struct charge *ret, struct place place, uint64_t bytes)
{
        CUresult rc = reserve_at_first(ret, place, bytes);

        if (rc == CUDA_ERROR_OUT_OF_MEMORY)
                charge_note_refused(place.row);
        return rc;
}

CUresult reserve_swappable(struct charge_swappable *ret, struct place place, uint64_t bytes)
{
        struct reserve_request request = {
                .kind = ROOM_OF_SWAPPABLE, .charge.swappable = ret, .place = place, .bytes = bytes
        };
        CUresult rc = reserve_in_time(&request);

        if (rc == CUDA_ERROR_OUT_OF_MEMORY)
                charge_note_refused(place.row);
        return rc;
}

CUresult settle(struct charge *charge, CUresult rc, enum charge_space space, uint64_t key)
{
        if (rc == CUDA_ERROR_OUT_OF_MEMORY)
                charge_note_driver_refused(charge);
        if (rc == CUDA_SUCCESS)
                charge_keep(charge, space, key);
        else
                charge_drop(charge);
        return rc;
}

CUresult settle_free(struct charge *taken, CUresult rc, enum charge_space space, uint64_t key)
{
        int row = taken->device;

        if (rc != CUDA_SUCCESS) {
                charge_keep(taken, space, key);
                return rc;
        }
        remainder_gives_back(row, taken->bytes);
        charge_drop(taken);
        remainder_tend(row, 0);
        return rc;
}
