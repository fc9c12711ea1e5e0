/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills of device memory. All are queued, the ones without stream in the default stream: even
 * those return before the memory is filled, as on hardware.
 */
#include "sim/context/context.h"
#include "sim/entry.h"
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

/* For each element type: the linear and the 2D form, each with and without stream, and the old
 * 32-bit forms. */
#define FORMS(bits, type)                                                                         \
        static CUresult line##bits(bool is_per_thread, CUdeviceptr at, type value, size_t count)  \
        {                                                                                         \
                struct set_request request = { at, 0, value, sizeof(type), count, 1, false };     \
                return issue(is_per_thread, NULL, &request);                                      \
        }                                                                                         \
        static CUresult line_async##bits(bool is_per_thread, CUdeviceptr at, type value,          \
                                         size_t count, CUstream stream)                           \
        {                                                                                         \
                struct set_request request = { at, 0, value, sizeof(type), count, 1, true };      \
                return issue(is_per_thread, stream, &request);                                    \
        }                                                                                         \
        static CUresult box##bits(bool is_per_thread, CUdeviceptr at, size_t pitch, type value,   \
                                  size_t width, size_t rows)                                      \
        {                                                                                         \
                struct set_request request = {                                                    \
                        at, pitch, value, sizeof(type), width, rows, false                        \
                };                                                                                \
                return issue(is_per_thread, NULL, &request);                                      \
        }                                                                                         \
        static CUresult box_async##bits(bool is_per_thread, CUdeviceptr at, size_t pitch,         \
                                        type value, size_t width, size_t rows, CUstream stream)   \
        {                                                                                         \
                struct set_request request = {                                                    \
                        at, pitch, value, sizeof(type), width, rows, true                         \
                };                                                                                \
                return issue(is_per_thread, stream, &request);                                    \
        }                                                                                         \
        ENTRY_PAIR(cuMemsetD##bits##_v2, _ptds, line##bits,                                       \
                   (CUdeviceptr at, type value, size_t count), at, value, count)                  \
        ENTRY_PAIR(cuMemsetD##bits##Async, _ptsz, line_async##bits,                               \
                   (CUdeviceptr at, type value, size_t count, CUstream stream), at, value, count, \
                   stream)                                                                        \
        ENTRY_PAIR(cuMemsetD2D##bits##_v2, _ptds, box##bits,                                      \
                   (CUdeviceptr at, size_t pitch, type value, size_t width, size_t rows), at,     \
                   pitch, value, width, rows)                                                     \
        ENTRY_PAIR(cuMemsetD2D##bits##Async, _ptsz, box_async##bits,                              \
                   (CUdeviceptr at, size_t pitch, type value, size_t width, size_t rows,          \
                    CUstream stream),                                                             \
                   at, pitch, value, width, rows, stream)                                         \
        CUresult cuMemsetD##bits(CUdeviceptr_v1 at, type value, unsigned int count)               \
        {                                                                                         \
                API_ENTER(cuMemsetD##bits);                                                       \
                return line##bits(false, at, value, count);                                       \
        }                                                                                         \
        CUresult cuMemsetD2D##bits(CUdeviceptr_v1 at, unsigned int pitch, type value,             \
                                   unsigned int width, unsigned int rows)                         \
        {                                                                                         \
                API_ENTER(cuMemsetD2D##bits);                                                     \
                return box##bits(false, at, pitch, value, width, rows);                           \
        }

FORMS(8, unsigned char)
FORMS(16, unsigned short)
FORMS(32, unsigned int)
