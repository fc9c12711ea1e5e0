/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills of device memory. All are queued; fills without a stream go to the default stream and, as
 * on hardware, also return before the memory is filled.
 */
#include "sim/context/context.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/memory/memory.h"

struct set_request {
        CUdeviceptr address;
        size_t pitch;
        uint32_t value, element_bytes;
        size_t width, rows;
        bool is_async;
};

static CUresult capture_set(CUstream stream, const struct op_set *set)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_MEMSET, .context = stream->context };

        body.set.set = *set;
        body.set.asked = (CUDA_MEMSET_NODE_PARAMS){
                .dst = set->address,
                .pitch = set->pitch,
                .value = set->value,
                .elementSize = set->element_bytes,
                .width = set->width,
                .height = set->rows,
        };
        return capture_add(stream, &body);
}

static CUresult issue(bool is_per_thread, CUstream handle, const struct set_request *request)
{
        struct op_set set = { request->address,
                              request->pitch,
                              request->width,
                              request->rows,
                              request->value,
                              request->element_bytes,
                              NULL };
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS && stream_is_capturing(stream) && !request->is_async)
                rc = capture_refuse_stream(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (set.address % set.element_bytes || set.pitch % set.element_bytes ||
            (set.rows > 1 && set.pitch < set.width * set.element_bytes))
                return CUDA_ERROR_INVALID_VALUE;
        set.context = stream->context;
        if (stream_is_capturing(stream))
                return capture_set(stream, &set);
        if (op_set_check(&set) != CUDA_SUCCESS)
                return CUDA_ERROR_INVALID_VALUE;
        if (!set.width || !set.rows)
                return CUDA_SUCCESS;
        return stream_push(stream, COMMAND_SET, &set, sizeof(set));
}

CUresult sim_cuMemsetD8_v2(bool is_per_thread, CUdeviceptr at, unsigned char value, size_t count)
{
        struct set_request request = { at, 0, value, sizeof(value), count, 1, false };

        return issue(is_per_thread, NULL, &request);
}

CUresult sim_cuMemsetD8Async(bool is_per_thread, CUdeviceptr at, unsigned char value, size_t count,
                             CUstream stream)
{
        struct set_request request = { at, 0, value, sizeof(value), count, 1, true };

        return issue(is_per_thread, stream, &request);
}

CUresult sim_cuMemsetD2D8_v2(bool is_per_thread, CUdeviceptr at, size_t pitch, unsigned char value,
                             size_t width, size_t rows)
{
        struct set_request request = { at, pitch, value, sizeof(value), width, rows, false };

        return issue(is_per_thread, NULL, &request);
}

CUresult sim_cuMemsetD2D8Async(bool is_per_thread, CUdeviceptr at, size_t pitch,
                               unsigned char value, size_t width, size_t rows, CUstream stream)
{
        struct set_request request = { at, pitch, value, sizeof(value), width, rows, true };

        return issue(is_per_thread, stream, &request);
}

CUresult sim_cuMemsetD16_v2(bool is_per_thread, CUdeviceptr at, unsigned short value, size_t count)
{
        struct set_request request = { at, 0, value, sizeof(value), count, 1, false };

        return issue(is_per_thread, NULL, &request);
}

CUresult sim_cuMemsetD16Async(bool is_per_thread, CUdeviceptr at, unsigned short value,
                              size_t count, CUstream stream)
{
        struct set_request request = { at, 0, value, sizeof(value), count, 1, true };

        return issue(is_per_thread, stream, &request);
}

CUresult sim_cuMemsetD2D16_v2(bool is_per_thread, CUdeviceptr at, size_t pitch,
                              unsigned short value, size_t width, size_t rows)
{
        struct set_request request = { at, pitch, value, sizeof(value), width, rows, false };

        return issue(is_per_thread, NULL, &request);
}

CUresult sim_cuMemsetD2D16Async(bool is_per_thread, CUdeviceptr at, size_t pitch,
                                unsigned short value, size_t width, size_t rows, CUstream stream)
{
        struct set_request request = { at, pitch, value, sizeof(value), width, rows, true };

        return issue(is_per_thread, stream, &request);
}

CUresult sim_cuMemsetD32_v2(bool is_per_thread, CUdeviceptr at, unsigned int value, size_t count)
{
        struct set_request request = { at, 0, value, sizeof(value), count, 1, false };

        return issue(is_per_thread, NULL, &request);
}

CUresult sim_cuMemsetD32Async(bool is_per_thread, CUdeviceptr at, unsigned int value, size_t count,
                              CUstream stream)
{
        struct set_request request = { at, 0, value, sizeof(value), count, 1, true };

        return issue(is_per_thread, stream, &request);
}

CUresult sim_cuMemsetD2D32_v2(bool is_per_thread, CUdeviceptr at, size_t pitch, unsigned int value,
                              size_t width, size_t rows)
{
        struct set_request request = { at, pitch, value, sizeof(value), width, rows, false };

        return issue(is_per_thread, NULL, &request);
}

CUresult sim_cuMemsetD2D32Async(bool is_per_thread, CUdeviceptr at, size_t pitch,
                                unsigned int value, size_t width, size_t rows, CUstream stream)
{
        struct set_request request = { at, pitch, value, sizeof(value), width, rows, true };

        return issue(is_per_thread, stream, &request);
}
