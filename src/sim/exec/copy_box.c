/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls that copy boxes: 2D, 3D, between contexts, and in batches.
 */
#include "sim/context/context.h"
#include "sim/entries.h"
#include "sim/exec/copy.h"

#include <string.h>

static CUresult box(bool is_per_thread, CUstream stream, bool is_async, const CUDA_MEMCPY3D *from)
{
        struct copy_request request = { .box = *from, .is_async = is_async };

        return copy_issue(is_per_thread, stream, &request);
}

CUresult sim_cuMemcpy2DAsync_v2(bool is_per_thread, const CUDA_MEMCPY2D *copy, CUstream stream)
{
        CUDA_MEMCPY3D made;

        if (!copy)
                return CUDA_ERROR_INVALID_VALUE;
        made = copy_box_2d(copy);
        return box(is_per_thread, stream, true, &made);
}

CUresult sim_cuMemcpy2D_v2(bool is_per_thread, const CUDA_MEMCPY2D *copy)
{
        CUDA_MEMCPY3D made;

        if (!copy)
                return CUDA_ERROR_INVALID_VALUE;
        made = copy_box_2d(copy);
        return box(is_per_thread, NULL, false, &made);
}

CUresult sim_cuMemcpy3DAsync_v2(bool is_per_thread, const CUDA_MEMCPY3D *copy, CUstream stream)
{
        return copy ? box(is_per_thread, stream, true, copy) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemcpy3D_v2(bool is_per_thread, const CUDA_MEMCPY3D *copy)
{
        return copy ? box(is_per_thread, NULL, false, copy) : CUDA_ERROR_INVALID_VALUE;
}

static CUDA_MEMCPY2D widen_2d(const CUDA_MEMCPY2D_v1 *from)
{
        return (CUDA_MEMCPY2D){
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
        };
}

static CUDA_MEMCPY3D widen_3d(const CUDA_MEMCPY3D_v1 *from)
{
        return (CUDA_MEMCPY3D){
                .srcXInBytes = from->srcXInBytes,
                .srcY = from->srcY,
                .srcZ = from->srcZ,
                .srcLOD = from->srcLOD,
                .srcMemoryType = from->srcMemoryType,
                .srcHost = from->srcHost,
                .srcDevice = from->srcDevice,
                .srcArray = from->srcArray,
                .srcPitch = from->srcPitch,
                .srcHeight = from->srcHeight,
                .dstXInBytes = from->dstXInBytes,
                .dstY = from->dstY,
                .dstZ = from->dstZ,
                .dstLOD = from->dstLOD,
                .dstMemoryType = from->dstMemoryType,
                .dstHost = from->dstHost,
                .dstDevice = from->dstDevice,
                .dstArray = from->dstArray,
                .dstPitch = from->dstPitch,
                .dstHeight = from->dstHeight,
                .WidthInBytes = from->WidthInBytes,
                .Height = from->Height,
                .Depth = from->Depth,
        };
}

CUresult sim_cuMemcpy2D(const CUDA_MEMCPY2D_v1 *copy)
{
        CUDA_MEMCPY2D wide;

        wide = widen_2d(copy);
        return sim_cuMemcpy2D_v2(false, &wide);
}

CUresult sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1 *copy, CUstream stream)
{
        CUDA_MEMCPY2D wide = widen_2d(copy);

        return sim_cuMemcpy2DAsync_v2(false, &wide, stream);
}

CUresult sim_cuMemcpy3D(const CUDA_MEMCPY3D_v1 *copy)
{
        CUDA_MEMCPY3D wide = widen_3d(copy);

        return sim_cuMemcpy3D_v2(false, &wide);
}

CUresult sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1 *copy, CUstream stream)
{
        CUDA_MEMCPY3D wide = widen_3d(copy);

        return sim_cuMemcpy3DAsync_v2(false, &wide, stream);
}

/* Both structures have the same layout: CUDA_MEMCPY3D has reserved words where the peer form has
 * contexts. */
static CUDA_MEMCPY3D box_of_peer(const CUDA_MEMCPY3D_PEER *from)
{
        CUDA_MEMCPY3D made;

        _Static_assert(sizeof(made) == sizeof(*from), "the same layout");
        memcpy(&made, from, sizeof(made));
        made.reserved0 = NULL;
        made.reserved1 = NULL;
        return made;
}

CUresult sim_cuMemcpy3DPeerAsync(bool is_per_thread, const CUDA_MEMCPY3D_PEER *copy,
                                 CUstream stream)
{
        struct copy_request request = { .is_async = true };
        CUresult rc = CUDA_SUCCESS;

        request.box = box_of_peer(copy);
        /* for a side that is an array, the given context is ignored */
        if (copy->srcMemoryType != CU_MEMORYTYPE_ARRAY)
                request.from_context = copy->srcContext;
        if (copy->dstMemoryType != CU_MEMORYTYPE_ARRAY)
                request.to_context = copy->dstContext;
        if (request.from_context)
                rc = context_check(request.from_context);
        if (rc == CUDA_SUCCESS && request.to_context)
                rc = context_check(request.to_context);
        return rc == CUDA_SUCCESS ? copy_issue(is_per_thread, stream, &request) : rc;
}

/* Returns whether a batch may use this stream. The legacy default stream is not allowed. */
static bool may_batch(bool is_per_thread, CUstream stream)
{
        return stream != CU_STREAM_LEGACY && (stream || is_per_thread);
}

struct copy_batch {
        CUdeviceptr *to, *from;
        size_t *sizes, count;
        CUmemcpyAttributes *attributes;
        size_t *attribute_index, attribute_count;
};

static CUresult batch_check(const struct copy_batch *batch)
{
        if (!batch->count || !batch->to || !batch->from || !batch->sizes || !batch->attributes ||
            !batch->attribute_index || !batch->attribute_count ||
            batch->attribute_count > batch->count || batch->attribute_index[0])
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 1; i < batch->attribute_count; i++)
                if (batch->attribute_index[i] <= batch->attribute_index[i - 1] ||
                    batch->attribute_index[i] >= batch->count)
                        return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < batch->attribute_count; i++)
                if (batch->attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
                    batch->attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
                        return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

static CUresult batch_issue(bool is_per_thread, CUstream stream, const struct copy_batch *batch,
                            size_t *ret_failed)
{
        CUresult rc =
                may_batch(is_per_thread, stream) ? batch_check(batch) : CUDA_ERROR_INVALID_VALUE;

        if (rc != CUDA_SUCCESS) {
                *ret_failed = SIZE_MAX;
                return rc;
        }
        for (size_t i = 0; i < batch->count; i++) {
                struct copy_request request = { .is_async = true };

                request.box = copy_box_linear(
                        (struct copy_linear){ batch->to[i], CU_MEMORYTYPE_UNIFIED, batch->from[i],
                                              CU_MEMORYTYPE_UNIFIED, batch->sizes[i] });
                rc = batch->sizes[i] ? copy_issue(is_per_thread, stream, &request)
                                     : CUDA_ERROR_INVALID_VALUE;
                if (rc != CUDA_SUCCESS) {
                        *ret_failed = i;
                        return rc;
                }
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuMemcpyBatchAsync(bool is_per_thread, CUdeviceptr *to, CUdeviceptr *from,
                                size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
                                size_t *index, size_t attribute_count, size_t *ret_failed,
                                CUstream stream)
{
        struct copy_batch batch = { to, from, sizes, count, attributes, index, attribute_count };
        size_t ignored;

        return batch_issue(is_per_thread, stream, &batch, ret_failed ? ret_failed : &ignored);
}

/* A single copy with attributes is allowed in any stream, unlike a batch. */
CUresult sim_cuMemcpyWithAttributesAsync(bool is_per_thread, CUdeviceptr to, CUdeviceptr from,
                                         size_t bytes, CUmemcpyAttributes *how, CUstream stream)
{
        struct copy_request request = { .is_async = true };

        if (!how || how->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_INVALID ||
            how->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
                return CUDA_ERROR_INVALID_VALUE;
        request.box = copy_box_linear((struct copy_linear){ to, CU_MEMORYTYPE_UNIFIED, from,
                                                            CU_MEMORYTYPE_UNIFIED, bytes });
        return copy_issue(is_per_thread, stream, &request);
}

/* Translates an operand pair into a box. Array offsets count elements. For a pointer, rows and
 * layers are counted in elements of one byte, because its operand gives no format. */
static CUDA_MEMCPY3D box_of_batch(const CUDA_MEMCPY3D_BATCH_OP *op)
{
        CUDA_MEMCPY3D made = { .WidthInBytes = op->extent.width,
                               .Height = op->extent.height,
                               .Depth = op->extent.depth };

        if (op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
                made.srcMemoryType = CU_MEMORYTYPE_ARRAY;
                made.srcArray = op->src.op.array.array;
                made.srcXInBytes = op->src.op.array.offset.x;
                made.srcY = op->src.op.array.offset.y;
                made.srcZ = op->src.op.array.offset.z;
        } else {
                made.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
                made.srcDevice = op->src.op.ptr.ptr;
                made.srcPitch = op->src.op.ptr.rowLength;
                made.srcHeight = op->src.op.ptr.layerHeight;
        }
        if (op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
                made.dstMemoryType = CU_MEMORYTYPE_ARRAY;
                made.dstArray = op->dst.op.array.array;
                made.dstXInBytes = op->dst.op.array.offset.x;
                made.dstY = op->dst.op.array.offset.y;
                made.dstZ = op->dst.op.array.offset.z;
        } else {
                made.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
                made.dstDevice = op->dst.op.ptr.ptr;
                made.dstPitch = op->dst.op.ptr.rowLength;
                made.dstHeight = op->dst.op.ptr.layerHeight;
        }
        return made;
}

CUresult sim_cuMemcpy3DBatchAsync(bool is_per_thread, size_t count, CUDA_MEMCPY3D_BATCH_OP *list,
                                  size_t *ret_failed, unsigned long long flags, CUstream stream)
{
        if (!count || !list || flags || !may_batch(is_per_thread, stream)) {
                if (ret_failed)
                        *ret_failed = SIZE_MAX;
                return CUDA_ERROR_INVALID_VALUE;
        }
        for (size_t i = 0; i < count; i++) {
                struct copy_request request = { .is_async = true, .box = box_of_batch(&list[i]) };
                CUresult rc = copy_issue(is_per_thread, stream, &request);

                if (rc != CUDA_SUCCESS) {
                        if (ret_failed)
                                *ret_failed = i;
                        return rc;
                }
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuMemcpy3DWithAttributesAsync(bool is_per_thread, CUDA_MEMCPY3D_BATCH_OP *op,
                                           unsigned long long flags, CUstream stream)
{
        struct copy_request request = { .is_async = true };

        if (!op || flags)
                return CUDA_ERROR_INVALID_VALUE;
        request.box = box_of_batch(op);
        return copy_issue(is_per_thread, stream, &request);
}
