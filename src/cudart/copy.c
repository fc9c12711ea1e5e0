/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of rows of bytes, of rectangles, and of boxes.
 *
 * The kind of a copy says whether each end is in host or device memory; with cudaMemcpyDefault the
 * addresses show it. Positions and widths in arrays are in bytes for copies of rectangles, and in
 * elements for copies of boxes.
 */
#include "cudart/copy.h"
#include "cudart/hand.h"

#include <string.h>

/* Sets the memory types of the two ends of a copy. False: the kind is unknown. */
static bool types_of(int kind, CUmemorytype *ret_from, CUmemorytype *ret_to)
{
        static const CUmemorytype of[][2] = {
                [cudaMemcpyHostToHost] = { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST },
                [cudaMemcpyHostToDevice] = { CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE },
                [cudaMemcpyDeviceToHost] = { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST },
                [cudaMemcpyDeviceToDevice] = { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE },
                [cudaMemcpyDefault] = { CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED },
        };

        if (kind < 0 || kind > cudaMemcpyDefault)
                return false;
        *ret_from = of[kind][0];
        *ret_to = of[kind][1];
        return true;
}

int rt_cudaMemcpy(const struct driver *d, void *to, const void *from, size_t bytes, int kind)
{
        switch (kind) {
        case cudaMemcpyHostToDevice:
                return (int)d->cuMemcpyHtoD_v2(P(to), from, bytes);
        case cudaMemcpyDeviceToHost:
                return (int)d->cuMemcpyDtoH_v2(to, P(from), bytes);
        case cudaMemcpyDeviceToDevice:
                return (int)d->cuMemcpyDtoD_v2(P(to), P(from), bytes);
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
                return (int)d->cuMemcpy(P(to), P(from), bytes);
        default:
                return cudaErrorInvalidMemcpyDirection;
        }
}

int rt_cudaMemcpyAsync(const struct driver *d, void *to, const void *from, size_t bytes, int kind,
                       cudaStream_t stream)
{
        switch (kind) {
        case cudaMemcpyHostToDevice:
                return (int)d->cuMemcpyHtoDAsync_v2(P(to), from, bytes, stream);
        case cudaMemcpyDeviceToHost:
                return (int)d->cuMemcpyDtoHAsync_v2(to, P(from), bytes, stream);
        case cudaMemcpyDeviceToDevice:
                return (int)d->cuMemcpyDtoDAsync_v2(P(to), P(from), bytes, stream);
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
                return (int)d->cuMemcpyAsync(P(to), P(from), bytes, stream);
        default:
                return cudaErrorInvalidMemcpyDirection;
        }
}

int rt_cudaMemcpyPeer(const struct driver *d, void *to, int to_device, const void *from,
                      int from_device, size_t bytes)
{
        CUcontext to_context, from_context;
        int rc = device_context(to_device, &to_context);

        if (!rc)
                rc = device_context(from_device, &from_context);
        return rc ? rc : (int)d->cuMemcpyPeer(P(to), to_context, P(from), from_context, bytes);
}

int rt_cudaMemcpyPeerAsync(const struct driver *d, void *to, int to_device, const void *from,
                           int from_device, size_t bytes, cudaStream_t stream)
{
        CUcontext to_context, from_context;
        int rc = device_context(to_device, &to_context);

        if (!rc)
                rc = device_context(from_device, &from_context);
        return rc ? rc
                  : (int)d->cuMemcpyPeerAsync(P(to), to_context, P(from), from_context, bytes,
                                              stream);
}

/* One end of a copy of a rectangle: linear memory with a pitch, or a position in an array. */
struct side {
        const void *linear;
        size_t pitch;
        CUarray array; /* NULL: the end is linear memory */
        size_t x, y;
};

struct rectangle {
        struct side to, from;
        size_t width, height;
        int kind;
};

static int rectangle_as_box(const struct rectangle *copy, CUDA_MEMCPY2D *ret)
{
        const struct side *to = &copy->to, *from = &copy->from;
        CUmemorytype from_type, to_type;

        if (!types_of(copy->kind, &from_type, &to_type))
                return cudaErrorInvalidMemcpyDirection;
        if (copy->height && ((!to->array && copy->width > to->pitch) ||
                             (!from->array && copy->width > from->pitch)))
                return cudaErrorInvalidPitchValue;
        *ret = (CUDA_MEMCPY2D){
                .srcXInBytes = from->x,
                .srcY = from->y,
                .srcMemoryType = from->array ? CU_MEMORYTYPE_ARRAY : from_type,
                .srcHost = from->linear,
                .srcDevice = P(from->linear),
                .srcArray = from->array,
                .srcPitch = from->pitch,
                .dstXInBytes = to->x,
                .dstY = to->y,
                .dstMemoryType = to->array ? CU_MEMORYTYPE_ARRAY : to_type,
                .dstHost = (void *)to->linear,
                .dstDevice = P(to->linear),
                .dstArray = to->array,
                .dstPitch = to->pitch,
                .WidthInBytes = copy->width,
                .Height = copy->height,
        };
        return 0;
}

static int copy_2d(const struct driver *d, const struct rectangle *copy)
{
        CUDA_MEMCPY2D box;
        int rc = rectangle_as_box(copy, &box);

        if (rc || !copy->width || !copy->height)
                return rc;
        return (int)d->cuMemcpy2DUnaligned_v2(&box);
}

static int copy_2d_async(const struct driver *d, const struct rectangle *copy, cudaStream_t stream)
{
        CUDA_MEMCPY2D box;
        int rc = rectangle_as_box(copy, &box);

        if (rc || !copy->width || !copy->height)
                return rc;
        return (int)d->cuMemcpy2DAsync_v2(&box, stream);
}

#define LINEAR(pointer, pitch_)                        \
        (struct side)                                  \
        {                                              \
                .linear = (pointer), .pitch = (pitch_) \
        }
#define ARRAY(array_, x_, y_)                           \
        (struct side)                                   \
        {                                               \
                .array = (array_), .x = (x_), .y = (y_) \
        }

int rt_cudaMemcpy2D(const struct driver *d, void *to, size_t to_pitch, const void *from,
                    size_t from_pitch, size_t width, size_t height, int kind)
{
        const struct rectangle copy = { LINEAR(to, to_pitch), LINEAR(from, from_pitch), width,
                                        height, kind };

        return copy_2d(d, &copy);
}

int rt_cudaMemcpy2DAsync(const struct driver *d, void *to, size_t to_pitch, const void *from,
                         size_t from_pitch, size_t width, size_t height, int kind,
                         cudaStream_t stream)
{
        const struct rectangle copy = { LINEAR(to, to_pitch), LINEAR(from, from_pitch), width,
                                        height, kind };

        return copy_2d_async(d, &copy, stream);
}

int rt_cudaMemcpy2DToArray(const struct driver *d, cudaArray_t to, size_t x, size_t y,
                           const void *from, size_t from_pitch, size_t width, size_t height,
                           int kind)
{
        const struct rectangle copy = { ARRAY(to, x, y), LINEAR(from, from_pitch), width, height,
                                        kind };

        return copy_2d(d, &copy);
}

int rt_cudaMemcpy2DToArrayAsync(const struct driver *d, cudaArray_t to, size_t x, size_t y,
                                const void *from, size_t from_pitch, size_t width, size_t height,
                                int kind, cudaStream_t stream)
{
        const struct rectangle copy = { ARRAY(to, x, y), LINEAR(from, from_pitch), width, height,
                                        kind };

        return copy_2d_async(d, &copy, stream);
}

int rt_cudaMemcpy2DFromArray(const struct driver *d, void *to, size_t to_pitch,
                             cudaArray_const_t from, size_t x, size_t y, size_t width,
                             size_t height, int kind)
{
        const struct rectangle copy = { LINEAR(to, to_pitch), ARRAY(from, x, y), width, height,
                                        kind };

        return copy_2d(d, &copy);
}

int rt_cudaMemcpy2DFromArrayAsync(const struct driver *d, void *to, size_t to_pitch,
                                  cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, int kind, cudaStream_t stream)
{
        const struct rectangle copy = { LINEAR(to, to_pitch), ARRAY(from, x, y), width, height,
                                        kind };

        return copy_2d_async(d, &copy, stream);
}

int rt_cudaMemcpy2DArrayToArray(const struct driver *d, cudaArray_t to, size_t to_x, size_t to_y,
                                cudaArray_const_t from, size_t from_x, size_t from_y, size_t width,
                                size_t height, int kind)
{
        const struct rectangle copy = { ARRAY(to, to_x, to_y), ARRAY(from, from_x, from_y), width,
                                        height, kind };

        return copy_2d(d, &copy);
}

int copy_row(void *to, const void *from, size_t bytes, int kind, CUDA_MEMCPY3D *ret)
{
        CUmemorytype from_type, to_type;

        if (!types_of(kind, &from_type, &to_type))
                return cudaErrorInvalidMemcpyDirection;
        *ret = (CUDA_MEMCPY3D){
                .srcMemoryType = from_type,
                .srcHost = from,
                .srcDevice = P(from),
                .srcPitch = bytes,
                .srcHeight = 1,
                .dstMemoryType = to_type,
                .dstHost = to,
                .dstDevice = P(to),
                .dstPitch = bytes,
                .dstHeight = 1,
                .WidthInBytes = bytes,
                .Height = 1,
                .Depth = 1,
        };
        return 0;
}

int copy_box(const struct driver *d, const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret)
{
        CUmemorytype from_type, to_type;
        size_t from_bytes, to_bytes; /* bytes of an element at each end */

        if (!p || !!p->srcArray == !!p->srcPtr.ptr || !!p->dstArray == !!p->dstPtr.ptr)
                return CUDA_ERROR_INVALID_VALUE;
        if (!types_of(p->kind, &from_type, &to_type))
                return cudaErrorInvalidMemcpyDirection;
        from_bytes = p->srcArray ? array_element_bytes(d, p->srcArray) : 1;
        to_bytes = p->dstArray ? array_element_bytes(d, p->dstArray) : 1;
        *ret = (CUDA_MEMCPY3D){
                .srcXInBytes = p->srcPos.x * from_bytes,
                .srcY = p->srcPos.y,
                .srcZ = p->srcPos.z,
                .srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : from_type,
                .srcHost = p->srcPtr.ptr,
                .srcDevice = P(p->srcPtr.ptr),
                .srcArray = p->srcArray,
                .srcPitch = p->srcPtr.pitch,
                .srcHeight = p->srcPtr.ysize,
                .dstXInBytes = p->dstPos.x * to_bytes,
                .dstY = p->dstPos.y,
                .dstZ = p->dstPos.z,
                .dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : to_type,
                .dstHost = p->dstPtr.ptr,
                .dstDevice = P(p->dstPtr.ptr),
                .dstArray = p->dstArray,
                .dstPitch = p->dstPtr.pitch,
                .dstHeight = p->dstPtr.ysize,
                .WidthInBytes = p->extent.width * (p->srcArray ? from_bytes : to_bytes),
                .Height = p->extent.height,
                .Depth = p->extent.depth,
        };
        return 0;
}

int rt_cudaMemcpy3D(const struct driver *d, const struct cudaMemcpy3DParms *p)
{
        CUDA_MEMCPY3D copy;
        int rc = copy_box(d, p, &copy);

        return rc ? rc : (int)d->cuMemcpy3D_v2(&copy);
}

int rt_cudaMemcpy3DAsync(const struct driver *d, const struct cudaMemcpy3DParms *p,
                         cudaStream_t stream)
{
        CUDA_MEMCPY3D copy;
        int rc = copy_box(d, p, &copy);

        return rc ? rc : (int)d->cuMemcpy3DAsync_v2(&copy, stream);
}
