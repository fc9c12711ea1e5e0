/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates and destroys contexts, and keeps each thread's stack of them.
 *
 * Creating a context takes context_bytes of the device, so the device can be full. A destroyed
 * context returns the bytes, but keeps its struct for ever, because the program may still use the
 * handle.
 */
#include "sim/context/context.h"

#include <stdlib.h>
#include <string.h>

#include "common/atomic.h"
#include "sim/context/context_internal.h"
#include "sim/context/device.h"
#include "sim/context/growth.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/memory.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

#define STACK_DEPTH 128
#define API_VERSION_1 3010
#define API_VERSION_2 3020
#define FLAGS_KNOWN ((unsigned)CU_CTX_FLAGS_MASK)

pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;

static CUcontext all_contexts; /* guarded by process_lock */
/* destroyed contexts, without primary ones, which are never freed; guarded by process_lock */
static CUcontext dead_contexts;
static _Thread_local CUcontext stack[STACK_DEPTH];
static _Thread_local unsigned depth;

CUcontext context_current(void)
{
        return depth ? stack[depth - 1] : NULL;
}

CUresult context_check(CUcontext context)
{
        if (!context || context->magic != CONTEXT_MAGIC)
                return CUDA_ERROR_INVALID_CONTEXT;
        if (load_acquire(&context->is_destroyed))
                return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        return (CUresult)load_acquire(&context->error);
}

CUresult context_check_life(CUcontext context, unsigned long long id)
{
        CUresult result = context_check(context);

        if (result == CUDA_ERROR_INVALID_CONTEXT || load_relaxed(&context->id) == id)
                return result;
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult context_require(CUcontext *ret_context)
{
        CUcontext context = context_current();
        CUresult result =
                exec_is_in_host_function() ? CUDA_ERROR_NOT_PERMITTED : context_check(context);

        if (result == CUDA_SUCCESS)
                *ret_context = context;
        return result;
}

void context_poison(CUcontext context, CUresult error)
{
        int none = CUDA_SUCCESS;

        cas_acq_rel(&context->error, &none, (int)error);
}

void context_poison_all(CUresult error)
{
        pthread_mutex_lock(&process_lock);
        for (CUcontext context = all_contexts; context; context = context->next)
                context_poison(context, error);
        pthread_mutex_unlock(&process_lock);
}

/* With grants=real 64 KiB for each multiprocessor, the value that an H200 returns (8,650,752). */
static size_t printf_default(void)
{
        const struct model_spec *spec = model_spec((enum sim_model)node_get()->model);

        return config_get()->has_real_grants ? (size_t)model_multiprocessors(spec) << 16 : 1 << 20;
}

static void limits_init(CUcontext context)
{
        context->limits[CU_LIMIT_STACK_SIZE] = CONTEXT_STACK_BYTES;
        context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = printf_default();
        context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = CONTEXT_HEAP_BYTES;
        context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
        context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
        context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

CUcontext context_alloc(CUdevice device, bool is_primary)
{
        CUcontext context = calloc(1, sizeof(*context));

        if (!context)
                return NULL;
        context->magic = CONTEXT_MAGIC;
        context->device = device;
        context->unit = device_unit(device);
        context->is_primary = is_primary;
        store_relaxed(&context->is_destroyed, true);
        return context;
}

static void defaults_set(CUcontext context, unsigned flags)
{
        static _Atomic unsigned long long next_id;

        store_relaxed(&context->id, add_relaxed(&next_id, 1) + 1);
        store_relaxed(&context->error, CUDA_SUCCESS);
        store_relaxed(&context->flags, flags);
        store_relaxed(&context->users, 1);
        context->api_version = API_VERSION_2;
        context->code_bytes = 0;
        context->cache_config = CU_FUNC_CACHE_PREFER_NONE;
        context->shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
        context->peers = 0;
        limits_init(context);
}

CUresult context_begin(CUcontext context, unsigned flags)
{
        uint64_t bytes = config_get()->context_bytes;

        if (load_acquire(&device_node(context->device)->is_lost))
                return CUDA_ERROR_DEVICE_UNAVAILABLE;
        if (node_grant(context->unit, FAMILY_CONTEXT, bytes) != GRANT_OK)
                return CUDA_ERROR_OUT_OF_MEMORY;
        defaults_set(context, flags);
        sim_spend(config_get()->context_ns);
        CUresult result = exec_context_open(context);
        if (result != CUDA_SUCCESS) {
                node_release(context->unit, FAMILY_CONTEXT, bytes);
                return result;
        }
        pthread_mutex_lock(&process_lock);
        context->next = all_contexts;
        all_contexts = context;
        pthread_mutex_unlock(&process_lock);
        store_release(&context->is_destroyed, false);
        return CUDA_SUCCESS;
}

void context_end(CUcontext context)
{
        /* First completes the context's work, including frees that wait in a stream. */
        if (!load_acquire(&context->is_destroyed))
                exec_context_synchronize(context);
        if (swap_acq_rel(&context->is_destroyed, true))
                return;
        pthread_mutex_lock(&process_lock);
        for (CUcontext *link = &all_contexts; *link; link = &(*link)->next) {
                if (*link == context) {
                        *link = context->next;
                        if (!context->is_primary) {
                                context->next = dead_contexts;
                                dead_contexts = context;
                        }
                        break;
                }
        }
        pthread_mutex_unlock(&process_lock);
        exec_context_close(context);
        memory_context_close(context);
        node_release(context->unit, FAMILY_CONTEXT,
                     config_get()->context_bytes + growth_take(context));
}

static CUresult create_context(CUcontext *ret, unsigned flags, CUdevice device,
                               unsigned api_version)
{
        CUcontext context;

        if (!ret || (flags & ~FLAGS_KNOWN) || (flags & CU_CTX_SCHED_MASK) == 3)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        if (depth == STACK_DEPTH)
                return CUDA_ERROR_INVALID_VALUE;
        context = context_alloc(device, false);
        if (!context)
                return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult result = context_begin(context, flags);
        if (result != CUDA_SUCCESS) {
                free(context);
                return result;
        }
        context->api_version = api_version;
        stack[depth++] = context;
        *ret = context;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxCreate(CUcontext *ret, unsigned int flags, CUdevice device)
{
        return create_context(ret, flags, device, API_VERSION_1);
}

/* Also used for OpenGL and VDPAU contexts. The simulator has no such interfaces, so a context for
 * them is like any other. */
CUresult sim_cuCtxCreate_v2(CUcontext *ret, unsigned int flags, CUdevice device)
{
        return create_context(ret, flags, device, API_VERSION_2);
}

CUresult sim_cuCtxCreate_v3(CUcontext *ret, CUexecAffinityParam *affinity, int affinities,
                            unsigned int flags, CUdevice device)
{
        if (affinities > 0)
                return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
        return create_context(ret, flags, device, API_VERSION_2);
}

CUresult sim_cuCtxCreate_v4(CUcontext *ret, CUctxCreateParams *params, unsigned int flags,
                            CUdevice device)
{
        if (params && params->numExecAffinityParams > 0)
                return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
        if (params && params->cigParams)
                return CUDA_ERROR_NOT_SUPPORTED;
        return create_context(ret, flags, device, API_VERSION_2);
}

CUresult sim_cuCtxDestroy_v2(CUcontext context)
{
        CUresult result = context_check(context);

        if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
                return result;
        if (context->is_primary)
                return CUDA_ERROR_INVALID_CONTEXT;
        if (context_current() == context)
                depth--;
        context_end(context);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxAttach(CUcontext *ret, unsigned int flags)
{
        CUcontext context;

        if (!ret || flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult result = context_require(&context);
        if (result != CUDA_SUCCESS)
                return result;
        add_relaxed(&context->users, 1);
        *ret = context;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxDetach(CUcontext context)
{
        CUresult result = context_check(context);

        if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
                return result;
        if (context != context_current())
                return CUDA_ERROR_INVALID_CONTEXT;
        if (add_acq_rel(&context->users, -1u) == 1)
                return sim_cuCtxDestroy_v2(context);
        return CUDA_SUCCESS;
}

/* A primary context that has ended may be made current, because it may begin again. */
CUresult sim_cuCtxPushCurrent_v2(CUcontext context)
{
        CUresult result = context_check(context);

        if (result == CUDA_ERROR_INVALID_CONTEXT ||
            (result == CUDA_ERROR_CONTEXT_IS_DESTROYED && !context->is_primary))
                return result;
        if (depth == STACK_DEPTH)
                return CUDA_ERROR_INVALID_VALUE;
        stack[depth++] = context;
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxPopCurrent_v2(CUcontext *ret)
{
        if (depth == 0)
                return CUDA_ERROR_INVALID_CONTEXT;
        depth--;
        if (ret)
                *ret = stack[depth];
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCurrent(CUcontext context)
{
        if (!context) {
                if (depth > 0)
                        depth--;
                return CUDA_SUCCESS;
        }
        unsigned before = depth;
        if (depth > 0)
                depth--;
        CUresult result = sim_cuCtxPushCurrent_v2(context);
        if (result != CUDA_SUCCESS)
                depth = before;
        return result;
}

CUresult sim_cuCtxGetCurrent(CUcontext *ret)
{
        *ret = context_current();
        return CUDA_SUCCESS;
}
