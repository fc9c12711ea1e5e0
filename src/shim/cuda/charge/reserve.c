/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/charge/reserve.h"

#include "shim/cuda/charge/import.h"
#include "shim/cuda/charge/meter.h"
#include "shim/cuda/charge/remainder.h"

static bool grant(struct charge *ret, struct place place, uint64_t bytes)
{
        if (!charge_begin(ret, place.row, bytes))
                return false;
        ret->owner = place.owner;
        remainder_granted(place.row, bytes);
        return true;
}

CUresult reserve_at_first(struct charge *ret, struct place place, uint64_t bytes)
{
        if (place.row == SESSION_NO_ROW) {
                charge_begin(ret, CHARGE_NO_DEVICE, 0);
                /* Nothing is asked, or nothing can be: let the driver say what is wrong with it. */
                return place.answer && !bytes ? CUDA_SUCCESS : refusal(place);
        }
        if (bytes) {
                remainder_tend(place.row, bytes);
                import_claim(place.row);
        }
        if (grant(ret, place, bytes) || (remainder_relieve(place.row) && grant(ret, place, bytes)))
                return CUDA_SUCCESS;
        for (unsigned step = 0; meters_relieve(place, step); step++) {
                if (grant(ret, place, bytes))
                        return CUDA_SUCCESS;
        }
        return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult reserve_at(struct charge *ret, struct place place, uint64_t bytes)
{
        CUresult rc = reserve_at_first(ret, place, bytes);

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
