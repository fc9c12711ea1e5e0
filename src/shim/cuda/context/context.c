/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/context/context.h"

#include "shim/cuda/charge/host_frees.h"
#include "shim/cuda/charge/import.h"
#include "shim/cuda/charge/remainder.h"
#include "shim/cuda/context/context_size.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/capture.h"
#include "shim/cuda/stream/recorded.h"
#include "shim/cuda/stream/time.h"
#include "shim/cuda/swap/block.h"

static CUresult try_to_reserve(struct charged_call *call, uint64_t *ret_bytes)
{
        CUresult rc;

        call->turn = context_turn_take(call->place);
        *ret_bytes = call->ret.at ? context_bytes(call->place) : 0;
        rc = reserve_at_once(&call->charge, call->place, *ret_bytes);
        if (rc != CUDA_SUCCESS)
                turn_drop(call->turn);
        return rc;
}

/* context_turn_take() lets one process at a time create a context. That lock is not held while this
 * waits for room on the card: another process may wait for the lock, in a call for which a hold of
 * the session waits. */
struct charged_call context_begin(struct out ret, CUdevice device)
{
        struct charged_call call = { .ret = ret };
        struct room_wait wait = { 0 };
        uint64_t bytes;

        access_begin();
        call.place = place_of_device(device);
        do
                call.rc = try_to_reserve(&call, &bytes);
        while (call.rc == CUDA_ERROR_OUT_OF_MEMORY && reserve_again(&wait, call.place, bytes));
        return call;
}

/* Settles a new context: gives it a number, and keeps its own charge under its handle. That charge
 * has no owner. */
static void settle_context(struct charged_call *call)
{
        if (call->rc == CUDA_SUCCESS) {
                place_seated((CUcontext)(uintptr_t)charged_call_key(call), call->place);
                if (context_measure(call->place, call->charge.bytes))
                        context_correct(&call->charge, call->place);
        }
        call->charge.owner = 0;
        charged_call_settle(call, SPACE_CONTEXT);
        if (call->rc == CUDA_SUCCESS)
                remainder_changed(call->place.row);
        turn_drop(call->turn);
}

CUresult context_end(struct charged_call *call)
{
        if (call->is_called)
                settle_context(call);
        return access_end(call->rc);
}

void context_owner_gone(uint32_t owner)
{
        host_frees_owner_gone(owner);
        import_owner_gone(owner);
        recorded_owner_gone(owner);
        swap_owner_gone(owner);
        charge_drop_owner(owner);
}

static struct context_ending ending_begin(CUcontext context)
{
        struct context_ending ending = { .context = context, .place = place_forget(context) };

        charge_take(&ending.charge, SPACE_CONTEXT, key_of(context));
        return ending;
}

static CUresult ending_end(struct context_ending *ending, CUresult rc)
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

struct context_destroy context_destroy_begin(CUcontext context)
{
        struct context_destroy destroy;

        access_begin();
        destroy = (struct context_destroy){ .ending = ending_begin(context) };
        host_frees_hold();
        destroy.began_ns = time_context_ends(context);
        capture_ends_begin();
        return destroy;
}

CUresult context_destroy_end(struct context_destroy *destroy, CUresult rc)
{
        CUcontext context = destroy->ending.context;

        capture_ends_end(rc);
        if (rc == CUDA_SUCCESS)
                time_context_gone(context, destroy->began_ns);
        time_context_ended(rc == CUDA_SUCCESS ? context : NULL);
        rc = ending_end(&destroy->ending, rc);
        host_frees_go_on();
        return access_end(rc);
}

/* Removes one user of the context; removing the last one destroys it. Whether the context was
 * destroyed shows only afterwards, because the driver then no longer knows it. */
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
                struct context_ending ending = ending_begin(context);

                ending_end(&ending, CUDA_SUCCESS);
        }
        host_frees_go_on();
        return rc;
}
