/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: what one takes of the card, and what goes with it.
 *
 * A context's own memory is charged as context_size.h says. Memory, arrays and modules belong to
 * the context they were made in: when it is destroyed they are given back with it, under its
 * number.
 */
#include "shim/cuda/context/context.h"

#include "shim/cuda/charge/host_frees.h"
#include "shim/cuda/charge/import.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/context/context_size.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/capture.h"
#include "shim/cuda/stream/recorded.h"
#include "shim/cuda/stream/time.h"
#include "shim/cuda/swap/block.h"

/* A context that is being made. */
struct making {
        struct place place;
        struct charge charge;
        unsigned attempt; /* is_draining() */
        void *turn;
};

static CUresult making_try(struct making *making, uint64_t *ret_bytes, bool is_wanted)
{
        CUresult rc;

        making->turn = context_turn_take(making->place);
        *ret_bytes = is_wanted ? context_bytes(making->place) : 0;
        rc = reserve_at_once(&making->charge, making->place, *ret_bytes);
        if (rc != CUDA_SUCCESS)
                turn_drop(making->turn);
        return rc;
}

/* `ret` is where the program wants it; else: what the program is told. The turn is not held while
 * this waits for room: another process may wait for the turn, in a call that holds up a hold. */
static CUresult making_begin(struct making *making, CUdevice device, const CUcontext *ret)
{
        struct room_wait wait = { 0 };
        uint64_t bytes;
        CUresult rc;

        making->attempt = 0;
        making->place = place_of_device(device);
        do
                rc = making_try(making, &bytes, ret != NULL);
        while (rc == CUDA_ERROR_OUT_OF_MEMORY && reserve_again(&wait, making->place, bytes));
        return rc;
}

/* A new context, left at `ret`, gets its number; its own charge is found by its handle. */
static CUresult making_end(struct making *making, CUresult rc, const CUcontext *ret)
{
        CUcontext context = rc == CUDA_SUCCESS && ret ? *ret : NULL;
        struct charge *charge = &making->charge;

        if (rc == CUDA_SUCCESS) {
                place_seated(context, making->place);
                if (context_measure(making->place, charge->bytes))
                        context_correct(charge, making->place);
        }
        charge->owner = 0;
        settle(charge, rc, SPACE_CONTEXT, key_of(context));
        if (rc == CUDA_SUCCESS)
                remainder_changed(making->place.row);
        turn_drop(making->turn);
        return rc;
}

CUresult hook_cuCtxCreate(CUcontext *ret, unsigned int flags, CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct making making;
        CUresult rc = making_begin(&making, device, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuCtxCreate(ret, flags, device);
        while (is_draining(&making.charge, rc, &making.attempt));
        return making_end(&making, rc, ret);
}

CUresult hook_cuCtxCreate_v2(CUcontext *ret, unsigned int flags, CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct making making;
        CUresult rc = making_begin(&making, device, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuCtxCreate_v2(ret, flags, device);
        while (is_draining(&making.charge, rc, &making.attempt));
        return making_end(&making, rc, ret);
}

CUresult hook_cuGLCtxCreate(CUcontext *ret, unsigned int flags, CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct making making;
        CUresult rc = making_begin(&making, device, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuGLCtxCreate(ret, flags, device);
        while (is_draining(&making.charge, rc, &making.attempt));
        return making_end(&making, rc, ret);
}

CUresult hook_cuGLCtxCreate_v2(CUcontext *ret, unsigned int flags, CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct making making;
        CUresult rc = making_begin(&making, device, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuGLCtxCreate_v2(ret, flags, device);
        while (is_draining(&making.charge, rc, &making.attempt));
        return making_end(&making, rc, ret);
}

CUresult hook_cuVDPAUCtxCreate(CUcontext *ret, unsigned int flags, CUdevice device,
                               unsigned int vdp, void *find)
{
        scoped_access const struct credit *access = access_scope();
        struct making making;
        CUresult rc = making_begin(&making, device, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuVDPAUCtxCreate(ret, flags, device, vdp, find);
        while (is_draining(&making.charge, rc, &making.attempt));
        return making_end(&making, rc, ret);
}

CUresult hook_cuVDPAUCtxCreate_v2(CUcontext *ret, unsigned int flags, CUdevice device,
                                  unsigned int vdp, void *find)
{
        scoped_access const struct credit *access = access_scope();
        struct making making;
        CUresult rc = making_begin(&making, device, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuVDPAUCtxCreate_v2(ret, flags, device, vdp, find);
        while (is_draining(&making.charge, rc, &making.attempt));
        return making_end(&making, rc, ret);
}

CUresult hook_cuCtxCreate_v3(CUcontext *ret, CUexecAffinityParam *params, int count,
                             unsigned int flags, CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct making making;
        CUresult rc = making_begin(&making, device, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuCtxCreate_v3(ret, params, count, flags, device);
        while (is_draining(&making.charge, rc, &making.attempt));
        return making_end(&making, rc, ret);
}

CUresult hook_cuCtxCreate_v4(CUcontext *ret, CUctxCreateParams *params, unsigned int flags,
                             CUdevice device)
{
        scoped_access const struct credit *access = access_scope();
        struct making making;
        CUresult rc = making_begin(&making, device, ret);

        if (rc != CUDA_SUCCESS)
                return rc;
        do
                rc = real.cuCtxCreate_v4(ret, params, flags, device);
        while (is_draining(&making.charge, rc, &making.attempt));
        return making_end(&making, rc, ret);
}

/* What was made in the context went with it. */
void context_owner_gone(uint32_t owner)
{
        host_frees_owner_gone(owner);
        import_owner_gone(owner);
        recorded_owner_gone(owner);
        swap_owner_gone(owner);
        charge_drop_owner(owner);
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
                context_owner_gone(ending->place.owner);
        else
                place_restore(ending->context, ending->place);
        settle_free(&ending->charge, rc, SPACE_CONTEXT, key_of(ending->context));
        if (rc == CUDA_SUCCESS)
                remainder_changed(ending->place.row);
        return rc;
}

/* Around a call that destroys a context. */
struct destroying {
        struct ending ending;
        uint64_t began_ns;
};

static struct destroying destroying_begin(CUcontext context)
{
        struct destroying destroying = { .ending = ending_begin(context) };

        host_frees_hold();
        destroying.began_ns = time_context_ends(context);
        capture_ends_begin();
        return destroying;
}

static CUresult destroying_end(struct destroying *destroying, CUresult rc)
{
        CUcontext context = destroying->ending.context;

        capture_ends_end(rc);
        if (rc == CUDA_SUCCESS)
                time_context_gone(context, destroying->began_ns);
        time_context_ended(rc == CUDA_SUCCESS ? context : NULL);
        rc = ending_end(&destroying->ending, rc);
        host_frees_go_on();
        return rc;
}

CUresult hook_cuCtxDestroy(CUcontext context)
{
        scoped_access const struct credit *access = access_scope();
        struct destroying destroying = destroying_begin(context);

        return destroying_end(&destroying, real.cuCtxDestroy(context));
}

CUresult hook_cuCtxDestroy_v2(CUcontext context)
{
        scoped_access const struct credit *access = access_scope();
        struct destroying destroying = destroying_begin(context);

        return destroying_end(&destroying, real.cuCtxDestroy_v2(context));
}

/* One user less; the last one ends it, which the driver tells by not knowing it any more. */
CUresult hook_cuCtxDetach(CUcontext context)
{
        scoped_access const struct credit *access = access_scope();
        CUresult alive = CUDA_SUCCESS;
        unsigned version;
        uint64_t began_ns;
        bool is_gone;
        CUresult rc;

        host_frees_hold();
        began_ns = time_context_ends(context);
        capture_ends_begin();
        rc = capture_ends_end(real.cuCtxDetach(context));
        if (rc == CUDA_SUCCESS && front_is_on())
                alive = real.cuCtxGetApiVersion(context, &version);
        is_gone = alive == CUDA_ERROR_INVALID_CONTEXT || alive == CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (is_gone)
                time_context_gone(context, began_ns);
        time_context_ended(is_gone ? context : NULL);
        if (is_gone) {
                struct ending ending = ending_begin(context);

                ending_end(&ending, CUDA_SUCCESS);
        }
        host_frees_go_on();
        return rc;
}
