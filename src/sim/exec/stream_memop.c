/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream memory operations: a stream waits for a word in memory, or writes one.
 *
 * The old and the _v2 forms differ in what hardware had to support, not in what they do here.
 * Captured, each call is one batch node.
 */
#include "sim/entry.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 256

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

static CUresult batch(bool is_per_thread, CUstream handle, unsigned count,
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

ENTRY_PAIR(cuStreamBatchMemOp, _ptsz, batch,
           (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags),
           stream, count, ops, flags)
ENTRY_PAIR(cuStreamBatchMemOp_v2, _ptsz, batch,
           (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags),
           stream, count, ops, flags)

static CUresult one(bool is_per_thread, CUstream stream, CUstreamBatchMemOpParams *op)
{
        return batch(is_per_thread, stream, 1, op, 0);
}

static CUresult wait32(bool is_per_thread, CUstream stream, CUdeviceptr address, cuuint32_t value,
                       unsigned flags)
{
        CUstreamBatchMemOpParams op = { 0 };

        if (flags & ~(3u | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH))
                return CUDA_ERROR_INVALID_VALUE;
        op.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
        op.waitValue.address = address;
        op.waitValue.value = value;
        op.waitValue.flags = flags;
        return one(is_per_thread, stream, &op);
}

static CUresult wait64(bool is_per_thread, CUstream stream, CUdeviceptr address, cuuint64_t value,
                       unsigned flags)
{
        CUstreamBatchMemOpParams op = { 0 };

        if (flags & ~(3u | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH))
                return CUDA_ERROR_INVALID_VALUE;
        op.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
        op.waitValue.address = address;
        op.waitValue.value64 = value;
        op.waitValue.flags = flags;
        return one(is_per_thread, stream, &op);
}

static CUresult write32(bool is_per_thread, CUstream stream, CUdeviceptr address, cuuint32_t value,
                        unsigned flags)
{
        CUstreamBatchMemOpParams op = { 0 };

        if (flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
                return CUDA_ERROR_INVALID_VALUE;
        op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        op.writeValue.address = address;
        op.writeValue.value = value;
        op.writeValue.flags = flags;
        return one(is_per_thread, stream, &op);
}

static CUresult write64(bool is_per_thread, CUstream stream, CUdeviceptr address, cuuint64_t value,
                        unsigned flags)
{
        CUstreamBatchMemOpParams op = { 0 };

        if (flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
                return CUDA_ERROR_INVALID_VALUE;
        op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
        op.writeValue.address = address;
        op.writeValue.value64 = value;
        op.writeValue.flags = flags;
        return one(is_per_thread, stream, &op);
}

#define WORD_PAIR(name, body, type)                                                                \
        ENTRY_PAIR(name, _ptsz, body,                                                              \
                   (CUstream stream, CUdeviceptr address, type value, unsigned int flags), stream, \
                   address, value, flags)

WORD_PAIR(cuStreamWaitValue32, wait32, cuuint32_t)
WORD_PAIR(cuStreamWaitValue32_v2, wait32, cuuint32_t)
WORD_PAIR(cuStreamWaitValue64, wait64, cuuint64_t)
WORD_PAIR(cuStreamWaitValue64_v2, wait64, cuuint64_t)
WORD_PAIR(cuStreamWriteValue32, write32, cuuint32_t)
WORD_PAIR(cuStreamWriteValue32_v2, write32, cuuint32_t)
WORD_PAIR(cuStreamWriteValue64, write64, cuuint64_t)
WORD_PAIR(cuStreamWriteValue64_v2, write64, cuuint64_t)
