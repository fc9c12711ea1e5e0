/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls on streams: create, wait, query, destroy.
 */
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/memory/memory.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

#include <string.h>

/* The range of stream priorities; lower numbers are more urgent. */
#define PRIORITY_MIN 0
#define PRIORITY_GREATEST (-5)

CUresult stream_resolve_work(CUstream handle, bool is_per_thread, CUstream *ret_stream)
{
        CUstream stream;
        CUresult rc = stream_resolve(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS && stream->kind == STREAM_LEGACY &&
            load_acquire(&stream->exec->blocking_captures))
                rc = capture_refuse_legacy(stream->exec);
        if (rc == CUDA_SUCCESS)
                *ret_stream = stream;
        return rc;
}

CUresult sim_cuStreamCreateWithPriority(CUcontext context, CUstream *ret_stream, unsigned flags,
                                        int priority)
{
        if (!ret_stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
                return CUDA_ERROR_INVALID_VALUE;
        if (!context->exec)
                return CUDA_ERROR_INVALID_CONTEXT;
        CUresult rc = stream_create(context->exec, STREAM_CREATED, flags, ret_stream);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (priority > PRIORITY_MIN)
                priority = PRIORITY_MIN;
        if (priority < PRIORITY_GREATEST)
                priority = PRIORITY_GREATEST;
        (*ret_stream)->priority = priority;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamDestroy_v2(CUstream stream)
{
        CUresult rc;

        if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
                return CUDA_ERROR_INVALID_HANDLE;
        rc = stream_check(stream);
        if (rc == CUDA_SUCCESS && stream->kind != STREAM_CREATED)
                rc = CUDA_ERROR_INVALID_HANDLE;
        if (rc != CUDA_SUCCESS)
                return rc;
        capture_stream_gone(stream);
        stream_retire(stream);
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamQuery(bool is_per_thread, CUstream handle)
{
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS && stream_is_capturing(stream))
                rc = capture_refuse_stream(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (rc == CUDA_SUCCESS)
                rc = exec_capture_check_unsafe();
        if (rc != CUDA_SUCCESS)
                return rc;
        sim_spend_call(config_get()->stream_query_ns);
        if (stream->kind == STREAM_LEGACY
                    ? !stream_is_idle(stream)
                    : load_acquire(&stream->completed) != load_acquire(&stream->enqueued))
                return CUDA_ERROR_NOT_READY;
        return (CUresult)load_acquire(&stream->context->error);
}

CUresult sim_cuStreamSynchronize(bool is_per_thread, CUstream handle)
{
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS && stream_is_capturing(stream))
                rc = capture_refuse_stream(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (rc == CUDA_SUCCESS)
                rc = exec_capture_check_unsafe();
        if (rc != CUDA_SUCCESS)
                return rc;
        /* waiting for the legacy stream includes the blocking streams */
        rc = stream->kind == STREAM_LEGACY ? stream_drain(stream) : stream_wait(stream);
        memory_synchronized(stream->context->device);
        return rc;
}

CUresult sim_cuStreamGetPriority(CUstream stream, int *ret_priority)
{
        *ret_priority = stream->priority;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetFlags(CUstream stream, unsigned *ret_flags)
{
        *ret_flags = stream->flags;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetId(CUstream stream, unsigned long long *ret_id)
{
        *ret_id = stream->id;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetDevice(CUstream stream, CUdevice *ret_device)
{
        *ret_device = stream->context->device;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetCtx(CUstream stream, CUcontext *ret_context)
{
        sim_spend(config_get()->stream_context_ns);
        *ret_context = stream->context;
        return CUDA_SUCCESS;
}

/* In the simulator, no stream belongs to a green context. */
CUresult sim_cuStreamGetCtx_v2(CUstream stream, CUcontext *ret_context, CUgreenCtx *ret_green)
{
        *ret_green = NULL;
        return sim_cuStreamGetCtx(stream, ret_context);
}

CUresult sim_cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *ret_green)
{
        *ret_green = NULL;
        return CUDA_SUCCESS;
}

/* Returns where an attribute is stored; NULL for attributes that streams do not have. */
static CUstreamAttrValue *attribute(CUstream stream, CUstreamAttrID id)
{
        switch (id) {
        case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
                return &stream->policy_window;
        case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
                return &stream->sync_policy;
        case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
                return &stream->sync_domain_map;
        case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
                return &stream->sync_domain;
        default:
                return NULL;
        }
}

CUresult sim_cuStreamGetAttribute(CUstream stream, CUstreamAttrID id, CUstreamAttrValue *ret_value)
{
        if (id == CU_STREAM_ATTRIBUTE_PRIORITY) {
                ret_value->priority = stream->priority;
                return CUDA_SUCCESS;
        }
        if (!attribute(stream, id))
                return CUDA_ERROR_INVALID_VALUE;
        *ret_value = *attribute(stream, id);
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamSetAttribute(CUstream stream, CUstreamAttrID id,
                                  const CUstreamAttrValue *value)
{
        if (!value || !attribute(stream, id))
                return CUDA_ERROR_INVALID_VALUE;
        *attribute(stream, id) = *value;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamCopyAttributes(bool is_per_thread, CUstream to_handle, CUstream from_handle)
{
        CUstream to, from;
        CUresult rc = stream_resolve(to_handle, is_per_thread, &to);

        if (rc == CUDA_SUCCESS)
                rc = stream_resolve(from_handle, is_per_thread, &from);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (to->context != from->context)
                return CUDA_ERROR_INVALID_VALUE;
        to->policy_window = from->policy_window;
        to->sync_policy = from->sync_policy;
        to->sync_domain_map = from->sync_domain_map;
        to->sync_domain = from->sync_domain;
        return CUDA_SUCCESS;
}
