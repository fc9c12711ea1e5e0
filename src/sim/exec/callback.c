/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions in a stream: cuLaunchHostFunc, and the older callbacks.
 *
 * They run on the stream's own thread and delay the later commands of the stream. A host function
 * may not call the driver (NOT_PERMITTED). If the context has failed, a host function is skipped,
 * while a callback is called with the error.
 */
#include "sim/entries.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"

CUresult sim_cuLaunchHostFunc(bool is_per_thread, CUstream handle, CUhostFn function,
                              void *argument)
{
        struct op_host host = { function, argument };
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!function)
                return CUDA_ERROR_INVALID_VALUE;
        if (stream_is_capturing(stream)) {
                struct node_body body = { .type = CU_GRAPH_NODE_TYPE_HOST,
                                          .context = stream->context,
                                          .host = host };

                return capture_add(stream, &body);
        }
        return stream_push(stream, COMMAND_HOST, &host, sizeof(host));
}

/* `how` (sleep or spin while the stream waits for the function) is only checked: the model has no
 * difference between the two. */
CUresult sim_cuLaunchHostFunc_v2(bool is_per_thread, CUstream handle, CUhostFn function,
                                 void *argument, unsigned how)
{
        return how > CU_HOST_TASK_SPINWAIT
                       ? CUDA_ERROR_INVALID_VALUE
                       : sim_cuLaunchHostFunc(is_per_thread, handle, function, argument);
}

CUresult sim_cuStreamAddCallback(bool is_per_thread, CUstream handle, CUstreamCallback function,
                                 void *argument, unsigned flags)
{
        struct command_callback callback = { function, argument };
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!function || flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (stream_is_capturing(stream))
                return capture_refuse_stream(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        return stream_push(stream, COMMAND_CALLBACK, &callback, sizeof(callback));
}
