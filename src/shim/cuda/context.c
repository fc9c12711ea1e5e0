/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: what one takes of the card, and what goes with it.
 *
 * A context's own memory is an estimate by model until NVML was asked, once a session and card,
 * what a process with one context and nothing else holds there; a session made with context=free
 * charges none. Memory, arrays and modules belong to the context they were made in: when it is
 * destroyed they are given back with it, under its number.
 *
 * A primary context is one a device, however often retained. Retain and release race with each
 * other by nature, so what counts is the driver's word after the call: active and not charged is
 * charged, charged and not active is given back, under one lock a process.
 */
#include "shim/cuda/front.h"

#include <string.h>

#include "common/atomic.h"
#include "shim/cards.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/measure.h"
#include "shim/cuda/real.h"
#include "shim/cuda/state.h"

/* No context is smaller or larger than this: NVML's word is not believed beyond. */
#define CONTEXT_LEAST (UINT64_C(1) << 20)
#define CONTEXT_MOST (UINT64_C(4) << 30)

static bool is_charged(struct place place)
{
        const struct limits_page *limits = session_limits();

        return place.row >= 0 && limits && !(limits->flags & PAGE_CONTEXT_FREE);
}

static bool is_sensible(uint64_t bytes)
{
        return bytes >= CONTEXT_LEAST && bytes <= CONTEXT_MOST;
}

static _Atomic uint64_t *measured_bytes(struct place place)
{
        return shared_word(&session_slots()->ledger[place.row].context_bytes);
}

static uint64_t estimate(struct place place)
{
        uint64_t measured = load_relaxed(measured_bytes(place));
        char model[128] = "";
        size_t card_bytes = 0;

        if (is_sensible(measured))
                return measured;
        real.cuDeviceGetName(model, sizeof(model), place.device);
        real.cuDeviceTotalMem_v2(&card_bytes, place.device);
        return measure_context(model, card_bytes);
}

static uint64_t context_bytes(struct place place)
{
        return is_charged(place) ? estimate(place) : 0;
}

/* The first of the session on this card, and this process has nothing else there: what NVML says of
 * the process is the context. */
static void correct(struct charge *charge, struct place place)
{
        struct charge more;
        uint64_t measured;
        CUuuid uuid;

        if (!charge->bytes || load_relaxed(measured_bytes(place)) ||
            front_own_bytes(place.row) != charge->bytes)
                return;
        if (real.cuDeviceGetUuid_v2(&uuid, place.device) != CUDA_SUCCESS ||
            !cards_own_bytes((const uint8_t *)uuid.bytes, &measured) || !is_sensible(measured))
                return;
        store_relaxed(measured_bytes(place), measured);
        if (measured < charge->bytes)
                charge_trim(charge, measured);
        else if (charge_begin(&more, place.row, measured - charge->bytes))
                charge_join(charge, &more);
}

/* A new context gets its number; its own charge is found by its handle. */
static CUresult settle_context(struct charge *charge, struct place place, CUresult rc,
                               CUcontext context)
{
        if (rc == CUDA_SUCCESS) {
                place_seated(context, place);
                correct(charge, place);
        }
        charge->owner = 0;
        return settle(charge, rc, SPACE_CONTEXT, key_of(context));
}

#define made(ret) (rc == CUDA_SUCCESS ? *(ret) : NULL)

CUresult hook_cuCtxCreate(CUcontext *ret, unsigned int flags, CUdevice device)
{
        struct place place = place_of_device(device);
        struct charge charge;
        CUresult rc = reserve_at(&charge, place, ret ? context_bytes(place) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = drained(&charge, real.cuCtxCreate(ret, flags, device));
        return settle_context(&charge, place, rc, made(ret));
}

CUresult hook_cuCtxCreate_v2(CUcontext *ret, unsigned int flags, CUdevice device)
{
        struct place place = place_of_device(device);
        struct charge charge;
        CUresult rc = reserve_at(&charge, place, ret ? context_bytes(place) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = drained(&charge, real.cuCtxCreate_v2(ret, flags, device));
        return settle_context(&charge, place, rc, made(ret));
}

CUresult hook_cuCtxCreate_v3(CUcontext *ret, CUexecAffinityParam *params, int count,
                             unsigned int flags, CUdevice device)
{
        struct place place = place_of_device(device);
        struct charge charge;
        CUresult rc = reserve_at(&charge, place, ret ? context_bytes(place) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = drained(&charge, real.cuCtxCreate_v3(ret, params, count, flags, device));
        return settle_context(&charge, place, rc, made(ret));
}

CUresult hook_cuCtxCreate_v4(CUcontext *ret, CUctxCreateParams *params, unsigned int flags,
                             CUdevice device)
{
        struct place place = place_of_device(device);
        struct charge charge;
        CUresult rc = reserve_at(&charge, place, ret ? context_bytes(place) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = drained(&charge, real.cuCtxCreate_v4(ret, params, flags, device));
        return settle_context(&charge, place, rc, made(ret));
}

/* A context that is being destroyed: found by nobody from begin on. */
struct ending {
        CUcontext context;
        struct place place;
        struct charge charge;
};

static struct ending ending_begin(CUcontext context)
{
        struct ending ending = { .context = context, .place = place_forget(context) };

        charge_take(&ending.charge, SPACE_CONTEXT, key_of(context));
        return ending;
}

static CUresult ending_end(struct ending *ending, CUresult rc)
{
        if (rc == CUDA_SUCCESS)
                charge_drop_owner(ending->place.owner);
        else
                place_restore(ending->context, ending->place);
        return settle_free(&ending->charge, rc, SPACE_CONTEXT, key_of(ending->context));
}

CUresult hook_cuCtxDestroy(CUcontext context)
{
        struct ending ending = ending_begin(context);

        return ending_end(&ending, real.cuCtxDestroy(context));
}

CUresult hook_cuCtxDestroy_v2(CUcontext context)
{
        struct ending ending = ending_begin(context);

        return ending_end(&ending, real.cuCtxDestroy_v2(context));
}

/* One user less; the last one ends it, which the driver tells by not knowing it any more. */
CUresult hook_cuCtxDetach(CUcontext context)
{
        CUresult rc = real.cuCtxDetach(context);
        unsigned version;

        if (rc == CUDA_SUCCESS && front_is_on() &&
            real.cuCtxGetApiVersion(context, &version) != CUDA_SUCCESS) {
                struct ending ending = ending_begin(context);

                ending_end(&ending, CUDA_SUCCESS);
        }
        return rc;
}

/* Under primary_lock, which is held across the driver's answer: it is a look, and what it says must
 * not be overtaken. `charge` is what was reserved for the case that it is new. */
static void primary_settle(struct place place, CUcontext context, struct charge *charge)
{
        uint64_t key = (uint64_t)place.device + 1;
        uint64_t *known = &state.primary[place.device];
        unsigned flags;
        int is_active = 0;
        struct charge old;
        struct place gone;

        lock_take(&state.primary_lock);
        real.cuDevicePrimaryCtxGetState(place.device, &flags, &is_active);
        if (*known && (!is_active || (context && *known != key_of(context)))) {
                gone = place_forget((CUcontext)(uintptr_t)*known);
                charge_drop_owner(gone.owner);
                if (charge_take(&old, SPACE_CONTEXT, key))
                        charge_drop(&old);
                *known = 0;
        }
        if (is_active && context && !*known) {
                place_seated(context, place);
                correct(charge, place);
                charge->owner = 0;
                charge_keep(charge, SPACE_CONTEXT, key);
                *known = key_of(context);
        }
        lock_drop(&state.primary_lock);
        charge_drop(charge);
}

static bool is_primary_charged(struct place place)
{
        bool is_known;

        lock_take(&state.primary_lock);
        is_known = state.primary[place.device] != 0;
        lock_drop(&state.primary_lock);
        return is_known;
}

CUresult hook_cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice device)
{
        struct place place = place_of_device(device);
        struct charge charge;
        uint64_t bytes = 0;
        CUresult rc;

        if (!ret || place.row == CHARGE_NO_DEVICE)
                return real.cuDevicePrimaryCtxRetain(ret, device);
        if (place.row >= 0 && !is_primary_charged(place))
                bytes = context_bytes(place);
        rc = reserve_at(&charge, place, bytes);
        if (rc != CUDA_SUCCESS)
                return rc;
        rc = drained(&charge, real.cuDevicePrimaryCtxRetain(ret, device));
        if (rc == CUDA_SUCCESS)
                primary_settle(place, *ret, &charge);
        else
                charge_drop(&charge);
        return rc;
}

static CUresult primary_less(CUresult rc, CUdevice device)
{
        struct charge none = { .device = CHARGE_NO_DEVICE };
        struct place place;

        if (rc != CUDA_SUCCESS || !front_is_on())
                return rc;
        place = place_of_device(device);
        if (place.row >= 0)
                primary_settle(place, NULL, &none);
        return rc;
}

CUresult hook_cuDevicePrimaryCtxRelease(CUdevice device)
{
        return primary_less(real.cuDevicePrimaryCtxRelease(device), device);
}

CUresult hook_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
        return primary_less(real.cuDevicePrimaryCtxRelease_v2(device), device);
}

CUresult hook_cuDevicePrimaryCtxReset(CUdevice device)
{
        return primary_less(real.cuDevicePrimaryCtxReset(device), device);
}

CUresult hook_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
        return primary_less(real.cuDevicePrimaryCtxReset_v2(device), device);
}

/* A green context shares its device's primary context, yet brings structures of its own. */
CUresult hook_cuGreenCtxCreate(CUgreenCtx *ret, CUdevResourceDesc resources, CUdevice device,
                               unsigned int flags)
{
        struct place place = place_of_device(device);
        struct charge charge;
        CUresult rc = reserve_at(&charge, place, ret ? context_bytes(place) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = drained(&charge, real.cuGreenCtxCreate(ret, resources, device, flags));
        charge.owner = 0;
        return settle(&charge, rc, SPACE_CONTEXT, key_of(made(ret)));
}

CUresult hook_cuGreenCtxDestroy(CUgreenCtx context)
{
        struct charge taken;

        charge_take(&taken, SPACE_CONTEXT, key_of(context));
        return settle_free(&taken, real.cuGreenCtxDestroy(context), SPACE_CONTEXT, key_of(context));
}
