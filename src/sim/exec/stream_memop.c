/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream memory operations: a stream waits for a word in memory, or writes one.
 *
 * The old and the _v2 forms differ in the hardware support that they required; the simulator treats
 * them alike. In a captured stream, each call becomes one batch node.
 */
#include "sim/entries.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 256
#define WAIT_FLAGS (3u | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH)
#define WRITE_FLAGS ((unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)

static CUresult operation_check(CUcontext context, const CUstreamBatchMemOpParams *op)
{
        uint64_t bytes = 4;

        switch (op->operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
                bytes = 8;
                break;
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
                break;
        case CU_STREAM_MEM_OP_BARRIER:
        case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
                return CUDA_SUCCESS;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        if (op->waitValue.address % bytes)
                return CUDA_ERROR_INVALID_VALUE;
        if (memory_check(context, op->waitValue.address, bytes, ACCESS_READ) != CUDA_SUCCESS)
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamBatchMemOp(bool is_per_thread, CUstream handle, unsigned count,
                                CUstreamBatchMemOpParams *operations, unsigned flags)
{
        struct command_memory *command;
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (flags || count > BATCH_MAX || (count && !operations))
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count; i++) {
                rc = operation_check(stream->context, &operations[i]);
                if (rc != CUDA_SUCCESS)
                        return rc;
        }
        if (stream_is_capturing(stream)) {
                struct node_body body = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                                          .context = stream->context,
                                          .batch = { stream->context, count, flags, operations } };

                return capture_add(stream, &body);
        }
        command = stream_begin(stream, COMMAND_MEMORY,
                               sizeof(*command) + count * sizeof(*operations));
        if (!command)
                return CUDA_ERROR_OUT_OF_MEMORY;
        command->count = count;
        memcpy(command->operations, operations, count * sizeof(*operations));
        stream_commit(stream);
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamWaitValue32(bool is_per_thread, CUstream stream, CUdeviceptr address,
                                 cuuint32_t value, unsigned flags)
{
        CUstreamBatchMemOpParams op = { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                       .address = address,
                                                       .value = value,
                                                       .flags = flags } };

        if (flags & ~WAIT_FLAGS)
                return CUDA_ERROR_INVALID_VALUE;
        return sim_cuStreamBatchMemOp(is_per_thread, stream, 1, &op, 0);
}

CUresult sim_cuStreamWaitValue64(bool is_per_thread, CUstream stream, CUdeviceptr address,
                                 cuuint64_t value, unsigned flags)
{
        CUstreamBatchMemOpParams op = { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_64,
                                                       .address = address,
                                                       .value64 = value,
                                                       .flags = flags } };

        if (flags & ~WAIT_FLAGS)
                return CUDA_ERROR_INVALID_VALUE;
        return sim_cuStreamBatchMemOp(is_per_thread, stream, 1, &op, 0);
}

CUresult sim_cuStreamWriteValue32(bool is_per_thread, CUstream stream, CUdeviceptr address,
                                  cuuint32_t value, unsigned flags)
{
        CUstreamBatchMemOpParams op = { .writeValue = { .operation =
                                                                CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                        .address = address,
                                                        .value = value,
                                                        .flags = flags } };

        if (flags & ~WRITE_FLAGS)
                return CUDA_ERROR_INVALID_VALUE;
        return sim_cuStreamBatchMemOp(is_per_thread, stream, 1, &op, 0);
}

CUresult sim_cuStreamWriteValue64(bool is_per_thread, CUstream stream, CUdeviceptr address,
                                  cuuint64_t value, unsigned flags)
{
        CUstreamBatchMemOpParams op = { .writeValue = { .operation =
                                                                CU_STREAM_MEM_OP_WRITE_VALUE_64,
                                                        .address = address,
                                                        .value64 = value,
                                                        .flags = flags } };

        if (flags & ~WRITE_FLAGS)
                return CUDA_ERROR_INVALID_VALUE;
        return sim_cuStreamBatchMemOp(is_per_thread, stream, 1, &op, 0);
}
