/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates copies and queues them. See copy.h.
 */
#include "sim/exec/copy.h"

#include "sim/context/context.h"
#include "sim/exec/exec.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/memory/arena.h"
#include "sim/memory/memory.h"
#include "sim/node/clock.h"

/* The source or the destination of a box, with the fields that both have in CUDA_MEMCPY3D. */
struct box_side {
        CUmemorytype type;
        uint64_t host, device;
        CUarray array;
        uint64_t x, y, z, pitch, height;
        CUcontext context;
};

static CUresult plan_array(const struct box_side *side, const CUDA_MEMCPY3D *box,
                           struct op_side *ret)
{
        CUresult rc = array_check(side->array);
        uint64_t row_bytes;

        if (rc != CUDA_SUCCESS)
                return rc;
        row_bytes = side->array->descriptor.Width * side->array->element_bytes;
        if (side->x > row_bytes || box->WidthInBytes > row_bytes - side->x ||
            side->y > side->array->height || box->Height > side->array->height - side->y ||
            side->z > side->array->depth || box->Depth > side->array->depth - side->z)
                return CUDA_ERROR_INVALID_VALUE;
        ret->pitch = side->array->pitch_bytes;
        ret->slice = side->array->pitch_bytes * side->array->height;
        ret->address = side->array->data + side->z * ret->slice + side->y * ret->pitch + side->x;
        /* No context's access rights apply to an array's storage; the bounds were just checked. */
        ret->context = NULL;
        ret->is_array = true;
        ret->device = side->array->context->device;
        return CUDA_SUCCESS;
}

/* Returns the context whose access rights apply to device memory. For memory of another device that
 * is the context that allocated it, because the copy is staged there. */
static CUcontext rights(CUdeviceptr address, CUcontext context)
{
        struct memory_block block;

        if (memory_find(address, &block) && block.context && block.context != context &&
            (block.kind == MEMORY_DEVICE || block.kind == MEMORY_IMPORT))
                return block.context;
        return context;
}

/* Returns whether rows and slices do not overlap, and whether a copy that is not empty has an
 * address. */
static bool is_box_sound(const struct box_side *side, const CUDA_MEMCPY3D *box, uint64_t base,
                         const struct op_side *planned)
{
        bool is_empty = !box->WidthInBytes || !box->Height || !box->Depth;

        return (box->Height <= 1 || planned->pitch >= side->x + box->WidthInBytes) &&
               (box->Depth <= 1 || planned->slice >= planned->pitch * (side->y + box->Height)) &&
               (base || is_empty);
}

/* Returns whether the address is in device memory. An address in the arena whose memory was freed
 * counts as device memory too: it cannot be host memory. */
static bool is_on_device(CUmemorytype type, uint64_t address)
{
        struct memory_block block;

        return type == CU_MEMORYTYPE_DEVICE ||
               (type == CU_MEMORYTYPE_UNIFIED &&
                (memory_find(address, &block) || arena_covers(address)));
}

static CUresult plan_linear(const struct box_side *side, const CUDA_MEMCPY3D *box,
                            struct op_side *ret)
{
        uint64_t base = side->type == CU_MEMORYTYPE_HOST ? side->host : side->device;

        ret->pitch = side->pitch ? side->pitch : side->x + box->WidthInBytes;
        ret->slice = ret->pitch * (side->height ? side->height : side->y + box->Height);
        if (!is_box_sound(side, box, base, ret))
                return CUDA_ERROR_INVALID_VALUE;
        ret->address = base + side->z * ret->slice + side->y * ret->pitch + side->x;
        ret->context = is_on_device(side->type, ret->address) ? side->context : NULL;
        return CUDA_SUCCESS;
}

static CUresult plan_side(const struct box_side *side, const CUDA_MEMCPY3D *box,
                          struct op_side *ret)
{
        switch (side->type) {
        case CU_MEMORYTYPE_ARRAY:
                return plan_array(side, box, ret);
        case CU_MEMORYTYPE_HOST:
        case CU_MEMORYTYPE_DEVICE:
        case CU_MEMORYTYPE_UNIFIED:
                return plan_linear(side, box, ret);
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

CUresult copy_plan(const struct copy_request *request, CUcontext context, struct op_copy *ret_copy)
{
        const CUDA_MEMCPY3D *box = &request->box;
        struct box_side from = { box->srcMemoryType, (uint64_t)box->srcHost,
                                 box->srcDevice,     box->srcArray,
                                 box->srcXInBytes,   box->srcY,
                                 box->srcZ,          box->srcPitch,
                                 box->srcHeight,     request->from_context };
        struct box_side to = { box->dstMemoryType, (uint64_t)box->dstHost, box->dstDevice,
                               box->dstArray,      box->dstXInBytes,       box->dstY,
                               box->dstZ,          box->dstPitch,          box->dstHeight,
                               request->to_context };
        struct op_copy copy = { .width_bytes = box->WidthInBytes,
                                .rows = box->Height,
                                .slices = box->Depth };
        CUresult rc;

        if (box->srcLOD || box->dstLOD)
                return CUDA_ERROR_INVALID_VALUE;
        if (!from.context)
                from.context = rights(from.device, context);
        if (!to.context)
                to.context = rights(to.device, context);
        rc = plan_side(&from, box, &copy.from);
        if (rc == CUDA_SUCCESS)
                rc = plan_side(&to, box, &copy.to);
        if (rc == CUDA_SUCCESS)
                *ret_copy = copy;
        return rc;
}

static uint64_t side_bytes(const struct op_side *side, const struct op_copy *copy)
{
        return (copy->slices - 1) * side->slice + (copy->rows - 1) * side->pitch +
               copy->width_bytes;
}

static bool is_pageable(const struct op_side *side, const struct op_copy *copy)
{
        struct memory_block block;

        return !side->context && !side->is_array && !memory_find(side->address, &block) &&
               !memory_is_pinned((const void *)side->address, side_bytes(side, copy));
}

static bool is_host(const struct op_side *side)
{
        struct memory_block block;

        return !side->is_array && (!memory_find(side->address, &block) ||
                                   block.kind == MEMORY_HOST || block.kind == MEMORY_REGISTERED);
}

/* Runs the copy on the caller's thread, after all work that is queued in the stream. */
static CUresult copy_now(CUstream stream, const struct op_copy *copy)
{
        struct exec_mark mark = { 0 };
        struct op_run run = { stream->exec, &mark, 0 };
        CUresult rc;

        rc = stream_drain(stream);
        if (rc != CUDA_SUCCESS)
                return rc;
        run.ready_ns = sim_now_ns();
        op_copy(&run, copy);
        if (mark.end_ns > load_acquire(&stream->end_ns))
                store_release(&stream->end_ns, mark.end_ns);
        progress_announce();
        return (CUresult)load_acquire(&stream->context->error);
}

static CUresult capture_copy(CUstream stream, const struct copy_request *request,
                             const struct op_copy *copy)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_MEMCPY, .context = stream->context };

        body.copy.copy = *copy;
        body.copy.asked = request->box;
        return capture_add(stream, &body);
}

CUresult copy_issue(bool is_per_thread, CUstream handle, const struct copy_request *request)
{
        struct op_copy copy;
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS && stream_is_capturing(stream) && !request->is_async)
                rc = capture_refuse_stream(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (rc == CUDA_SUCCESS)
                rc = copy_plan(request, stream->context, &copy);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (stream_is_capturing(stream))
                return capture_copy(stream, request, &copy);
        if (op_copy_check(&copy) != CUDA_SUCCESS)
                return CUDA_ERROR_INVALID_VALUE;
        if (!copy.width_bytes || !copy.rows || !copy.slices)
                return CUDA_SUCCESS;
        if (is_pageable(&copy.from, &copy) || is_pageable(&copy.to, &copy) ||
            (!request->is_async && (is_host(&copy.from) || is_host(&copy.to))))
                return copy_now(stream, &copy);
        return stream_push(stream, COMMAND_COPY, &copy, sizeof(copy));
}

CUDA_MEMCPY3D copy_box_2d(const CUDA_MEMCPY2D *from)
{
        return (CUDA_MEMCPY3D){
                .srcXInBytes = from->srcXInBytes,
                .srcY = from->srcY,
                .srcMemoryType = from->srcMemoryType,
                .srcHost = from->srcHost,
                .srcDevice = from->srcDevice,
                .srcArray = from->srcArray,
                .srcPitch = from->srcPitch,
                .dstXInBytes = from->dstXInBytes,
                .dstY = from->dstY,
                .dstMemoryType = from->dstMemoryType,
                .dstHost = from->dstHost,
                .dstDevice = from->dstDevice,
                .dstArray = from->dstArray,
                .dstPitch = from->dstPitch,
                .WidthInBytes = from->WidthInBytes,
                .Height = from->Height,
                .Depth = 1,
        };
}

CUDA_MEMCPY3D copy_box_linear(struct copy_linear copy)
{
        return (CUDA_MEMCPY3D){
                .srcMemoryType = copy.from_type,
                .srcHost = (const void *)copy.from,
                .srcDevice = copy.from,
                .dstMemoryType = copy.to_type,
                .dstHost = (void *)copy.to,
                .dstDevice = copy.to,
                .WidthInBytes = copy.bytes,
                .Height = 1,
                .Depth = 1,
        };
}
