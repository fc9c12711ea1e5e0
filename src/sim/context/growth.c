/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts by which a context grows; see growth.h.
 *
 * A context has stack memory for every thread that the multiprocessors can hold, whatever is
 * launched. The driver allocates it when the limit is set, and when a kernel needs more ("The
 * driver automatically increases the per-thread stack size for each kernel launch as needed. This
 * size isn't reset back to the original value after each launch", manual of cuCtxSetLimit). The
 * default stack is part of a context's initial memory.
 */
#include "sim/context/growth.h"

#include "sim/context/device.h"
#include "sim/node/config.h"

#define PAGE_STEP (UINT64_C(2) << 20)

/* Changes the size of a part. The caller holds process_lock. */
static CUresult resize(CUcontext context, enum growth part, uint64_t bytes)
{
        uint64_t held = context->grown_bytes[part];

        if (bytes > held && node_grant(context->unit, FAMILY_CONTEXT, bytes - held) != GRANT_OK)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (bytes < held)
                node_release(context->unit, FAMILY_CONTEXT, held - bytes);
        context->grown_bytes[part] = bytes;
        return CUDA_SUCCESS;
}

CUresult growth_set(CUcontext context, enum growth part, uint64_t bytes)
{
        pthread_mutex_lock(&process_lock);
        CUresult result = resize(context, part, bytes);
        pthread_mutex_unlock(&process_lock);
        return result;
}

CUresult growth_raise(CUcontext context, enum growth part, uint64_t bytes)
{
        CUresult result = CUDA_SUCCESS;

        pthread_mutex_lock(&process_lock);
        if (bytes > context->grown_bytes[part])
                result = resize(context, part, bytes);
        pthread_mutex_unlock(&process_lock);
        return result;
}

uint64_t growth_held(CUcontext context, enum growth part)
{
        pthread_mutex_lock(&process_lock);
        uint64_t bytes = context->grown_bytes[part];
        pthread_mutex_unlock(&process_lock);
        return bytes;
}

static uint64_t stack_bytes(uint64_t thread_bytes)
{
        const struct model_spec *spec = model_spec((enum sim_model)node_get()->model);
        uint64_t threads =
                (uint64_t)model_multiprocessors(spec) * (uint64_t)spec->threads_per_multiprocessor;
        uint64_t beyond =
                thread_bytes > CONTEXT_STACK_BYTES ? thread_bytes - CONTEXT_STACK_BYTES : 0;

        return (beyond * threads + PAGE_STEP - 1) / PAGE_STEP * PAGE_STEP;
}

CUresult growth_stack_set(CUcontext context, uint64_t thread_bytes)
{
        if (!config_get()->grants.has_stacks)
                return CUDA_SUCCESS;
        return growth_set(context, GROWTH_STACK, stack_bytes(thread_bytes));
}

CUresult growth_stack_raise(CUcontext context, uint64_t thread_bytes)
{
        if (!config_get()->grants.has_stacks || thread_bytes <= CONTEXT_STACK_BYTES)
                return CUDA_SUCCESS;
        return growth_raise(context, GROWTH_STACK, stack_bytes(thread_bytes));
}

uint64_t growth_take(CUcontext context)
{
        uint64_t bytes = 0;

        pthread_mutex_lock(&process_lock);
        for (unsigned part = 0; part < GROWTH_COUNT; part++) {
                bytes += context->grown_bytes[part];
                context->grown_bytes[part] = 0;
        }
        pthread_mutex_unlock(&process_lock);
        return bytes;
}
