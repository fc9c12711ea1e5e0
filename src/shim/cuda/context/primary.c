/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks for primary contexts, and for green contexts, which keep primary contexts alive.
 *
 * A device has one primary context, however often it is retained, and only the driver knows whether
 * a call created or destroyed it. So these calls are made one at a time, under primary_lock (the
 * driver serialises them too). After each call, the driver's state decides: an active context
 * without a charge is charged, and the charge of a context that is not active is released.
 */
#include "shim/cuda/charge/host_frees.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/context/context.h"
#include "shim/cuda/context/context_size.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/places.h"
#include "shim/cuda/state/primaries.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/capture.h"
#include "shim/cuda/stream/time.h"

/* Memory of a green context in addition to its primary context: measured on an H200 with driver
 * 580.159.04 (2026-11-26). */
#define GREEN_BYTES (UINT64_C(4) << 20)

static uint64_t primary_key(struct place place)
{
        return (uint64_t)place.device + 1;
}

/* Whether the primary context is active. `context` is the context that the driver has just
 * returned, or NULL. If the driver does not report the state, it is assumed unchanged. The caller
 * holds primary_lock. */
static bool is_active(struct place place, CUcontext context)
{
        unsigned flags;
        int active;

        if (context)
                return true;
        if (real.cuDevicePrimaryCtxGetState(place.device, &flags, &active) != CUDA_SUCCESS)
                return primary_state.primary[place.device] != 0;
        return active != 0;
}

/* Releases what belongs to the known primary context, which has ended. The caller holds
 * primary_lock. */
static void primary_gone(struct place place)
{
        uint64_t *known = &primary_state.primary[place.device];
        struct charge old;

        context_owner_gone(place_forget((CUcontext)(uintptr_t)*known).owner);
        if (charge_take(&old, SPACE_CONTEXT, primary_key(place)))
                charge_drop(&old);
        *known = 0;
}

/*
 * Makes the charges follow the driver's state after a call. `context` is the context that the
 * driver returned, or NULL. `charge` was reserved in case the context is new, and is empty
 * afterwards. True: the context is new. The caller holds primary_lock.
 */
static bool primary_settle(struct place place, CUcontext context, struct charge *charge)
{
        uint64_t *known = &primary_state.primary[place.device];
        bool is_alive = is_active(place, context);
        bool is_new;

        if (*known && (!is_alive || (context && *known != key_of(context))))
                primary_gone(place);
        is_new = context && !*known;
        if (is_new) {
                place_seated(context, place);
                charge->owner = 0;
                charge_keep(charge, SPACE_CONTEXT, primary_key(place));
                *known = key_of(context);
        }
        charge_drop(charge);
        return is_new;
}

/* Returns the size to charge if the next call creates the primary context; 0 if it is active
 * already. The caller holds primary_lock. */
static uint64_t primary_bytes(struct place place)
{
        return is_active(place, NULL) ? 0 : context_bytes(place);
}

struct retaining {
        struct room_wait wait;
        unsigned attempt; /* counter for is_draining() */
        CUresult rc;
};

/* Retains the primary context. If the driver fails, `ret_charge` is what was granted; the caller
 * releases it. */
static CUresult retain_once(CUcontext *ret, struct place place, struct charge *ret_charge,
                            bool *ret_is_new)
{
        CUresult rc;

        lock_take(&primary_state.primary_lock);
        rc = reserve_at_once(ret_charge, place, primary_bytes(place));
        if (rc == CUDA_SUCCESS) {
                rc = real.cuDevicePrimaryCtxRetain(ret, place.device);
                if (rc == CUDA_SUCCESS)
                        *ret_is_new = primary_settle(place, *ret, ret_charge);
        }
        lock_drop(&primary_state.primary_lock);
        return rc;
}

/* Corrects the charge of a new primary context to the measured size. NVML is asked without the
 * lock, so the context may have been replaced by then. */
static void primary_correct(struct place place, CUcontext context)
{
        struct charge kept;

        if (!context_measure(place, charge_held(SPACE_CONTEXT, primary_key(place))))
                return;
        lock_take(&primary_state.primary_lock);
        if (primary_state.primary[place.device] == key_of(context) &&
            charge_take(&kept, SPACE_CONTEXT, primary_key(place))) {
                context_correct(&kept, place);
                charge_keep(&kept, SPACE_CONTEXT, primary_key(place));
        }
        lock_drop(&primary_state.primary_lock);
}

/* Tries once to retain the primary context. Returns whether to try again. Neither the turn to
 * create a context (context_size.h) nor primary_lock is held while this waits for room on the card,
 * or until memory of dead processes has drained. */
static bool retain_try(CUcontext *ret, struct place place, struct retaining *retaining)
{
        struct charge charge;
        bool is_new = false, is_refused, is_again;
        uint64_t bytes;
        void *turn = context_turn_take(place);
        CUresult rc = retain_once(ret, place, &charge, &is_new);

        if (is_new) {
                primary_correct(place, *ret);
                remainder_changed(place.row);
        }
        is_refused = rc == CUDA_ERROR_OUT_OF_MEMORY && !charge.is_reserved;
        bytes = is_refused ? context_bytes(place) : 0;
        turn_drop(turn);
        retaining->rc = rc;
        is_again = is_refused ? reserve_again(&retaining->wait, place, bytes)
                              : is_draining(&charge, rc, &retaining->attempt);
        charge_drop(&charge);
        return is_again;
}

CUresult hook_cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_of_device(device);
        struct retaining retaining = { 0 };

        if (!ret || place.row == CHARGE_NO_DEVICE)
                return real.cuDevicePrimaryCtxRetain(ret, device);
        if (place.row < 0)
                return refusal(place);
        while (retain_try(ret, place, &retaining))
                continue;
        return retaining.rc;
}

/* State of a call that may destroy a primary context. During the call no thread asks the driver
 * about the context's streams and events, and afterwards neither if the context was destroyed,
 * because a driver may crash then. */
struct primaries {
        uint64_t began_ns;
        CUcontext gone; /* the context that was destroyed; NULL: none */
};

static struct primaries primaries_hold(void)
{
        lock_take(&primary_state.primary_lock);
        host_frees_hold();
        return (struct primaries){ .began_ns = time_context_ends(NULL) };
}

/* Notes whether the driver has destroyed the primary context of `device`: the driver reports that
 * it is not active, or the call was a reset, which destroys it however many users it has. */
static void primary_check(struct primaries *primaries, CUdevice device, bool is_reset)
{
        CUcontext context = (CUcontext)(uintptr_t)primary_state.primary[device];
        struct place place;

        if (!context)
                return;
        place = place_of_device(device);
        if (!is_reset && is_active(place, NULL))
                return;
        primaries->gone = context;
        time_context_gone(context, primaries->began_ns);
        primary_gone(place);
}

static void primaries_go_on(const struct primaries *primaries)
{
        time_context_ended(primaries->gone);
        host_frees_go_on();
        lock_drop(&primary_state.primary_lock);
}

/* State of a release or reset of one device's primary context. */
struct releasing {
        struct place place; /* without a row, nothing is known about the context */
        struct primaries primaries;
};

static struct releasing releasing_begin(CUdevice device)
{
        struct releasing releasing = { .place = place_of_device(device) };

        if (releasing.place.row >= 0)
                releasing.primaries = primaries_hold();
        capture_ends_begin();
        return releasing;
}

static CUresult releasing_end(struct releasing *releasing, CUresult rc, bool is_reset)
{
        const struct place *place = &releasing->place;

        capture_ends_end(rc);
        if (place->row < 0)
                return rc;
        if (rc == CUDA_SUCCESS)
                primary_check(&releasing->primaries, place->device, is_reset);
        primaries_go_on(&releasing->primaries);
        if (rc == CUDA_SUCCESS)
                remainder_changed(place->row);
        return rc;
}

CUresult hook_cuDevicePrimaryCtxRelease(CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct releasing releasing = releasing_begin(device);

        return releasing_end(&releasing, real.cuDevicePrimaryCtxRelease(device), false);
}

CUresult hook_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct releasing releasing = releasing_begin(device);

        return releasing_end(&releasing, real.cuDevicePrimaryCtxRelease_v2(device), false);
}

CUresult hook_cuDevicePrimaryCtxReset(CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct releasing releasing = releasing_begin(device);

        return releasing_end(&releasing, real.cuDevicePrimaryCtxReset(device), true);
}

CUresult hook_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct releasing releasing = releasing_begin(device);

        return releasing_end(&releasing, real.cuDevicePrimaryCtxReset_v2(device), true);
}

/* Returns the size to charge for a green context: its own, which is small, and that of the device's
 * primary context if this creates it, because a green context keeps it alive. */
static uint64_t green_bytes(struct place place)
{
        uint64_t bytes = GREEN_BYTES;

        lock_take(&primary_state.primary_lock);
        bytes += primary_bytes(place);
        lock_drop(&primary_state.primary_lock);
        return bytes;
}

CUresult hook_cuGreenCtxCreate(CUgreenCtx *ret, CUdevResourceDesc resources, CUdevice device,
                               unsigned int flags)
{
        scoped_access const struct credit *access = access_scope();
        struct place place = place_of_device(device);
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc = reserve_at(&charge, place, ret ? green_bytes(place) : 0);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuGreenCtxCreate(ret, resources, device, flags);
        while (is_draining(&charge, rc, &attempt));
        charge.owner = 0;
        settle(&charge, rc, SPACE_CONTEXT, key_at(rc, ret));
        if (rc == CUDA_SUCCESS)
                remainder_changed(place.row);
        return rc;
}

/* The green context had retained its device's primary context, and may have been the last user of
 * it. */
CUresult hook_cuGreenCtxDestroy(CUgreenCtx context)
{
        scoped_access const struct credit *access = access_scope();
        struct primaries primaries;
        struct charge taken;
        CUresult rc;

        charge_take(&taken, SPACE_CONTEXT, key_of(context));
        primaries = primaries_hold();
        capture_ends_begin();
        rc = capture_ends_end(real.cuGreenCtxDestroy(context));
        for (CUdevice device = 0; rc == CUDA_SUCCESS && device < STATE_DEVICES; device++)
                primary_check(&primaries, device, false);
        primaries_go_on(&primaries);
        settle_free(&taken, rc, SPACE_CONTEXT, key_of(context));
        if (rc == CUDA_SUCCESS)
                remainders_changed();
        return rc;
}
