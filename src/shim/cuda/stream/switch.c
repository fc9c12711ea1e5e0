/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks for calls that change a thread's current context. A default stream is then another stream,
 * so the credit for it ends, and the next launch finds its stream anew.
 */
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/time/credit.h"
#include "shim/time/time.h"

/* Ends the thread's credit if it is for a default stream of another context. Credit for any other
 * stream stays, because the handle means the same stream in all contexts. Many programs make the
 * same context current before every call. */
static void stop_in(CUcontext context)
{
        credit_here.home = credit_here.home_context == key_of(context) ? credit_here.home : NULL;
        if (!credit_is_free(&credit_here) && credit_here.context &&
            credit_here.context != key_of(context))
                gate_return_credit();
}

CUresult hook_cuCtxSetCurrent(CUcontext context)
{
        stop_in(context);
        return real.cuCtxSetCurrent(context);
}

CUresult hook_cuCtxPushCurrent(CUcontext context)
{
        stop_in(context);
        return real.cuCtxPushCurrent(context);
}

CUresult hook_cuCtxPushCurrent_v2(CUcontext context)
{
        stop_in(context);
        return real.cuCtxPushCurrent_v2(context);
}

CUresult hook_cuCtxPopCurrent(CUcontext *ret)
{
        stop_in(NULL);
        return real.cuCtxPopCurrent(ret);
}

CUresult hook_cuCtxPopCurrent_v2(CUcontext *ret)
{
        stop_in(NULL);
        return real.cuCtxPopCurrent_v2(ret);
}
