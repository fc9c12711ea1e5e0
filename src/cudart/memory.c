/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory calls that differ from the driver's, mostly for a size of 0.
 *
 * In the runtime a size of 0 is no error: the result is a null pointer, and freeing it does
 * nothing.
 */
#include "cudart/runtime.h"
#include "cudart/hand.h"

#include <string.h>

/* element size for cuMemAllocPitch(); the pitch for it fits elements of any size */
#define PITCH_ELEMENT_BYTES 4

int rt_cudaMalloc(const struct driver *d, void **ret, size_t bytes)
{
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = NULL;
        return bytes ? (int)d->cuMemAlloc_v2((CUdeviceptr *)ret, bytes) : 0;
}

int rt_cudaFree(const struct driver *d, void *ptr)
{
        return ptr ? (int)d->cuMemFree_v2(P(ptr)) : 0;
}

int rt_cudaMallocPitch(const struct driver *d, void **ret, size_t *ret_pitch, size_t width,
                       size_t height)
{
        if (!ret || !ret_pitch)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = NULL;
        *ret_pitch = 0;
        if (!width || !height)
                return 0;
        return (int)d->cuMemAllocPitch_v2((CUdeviceptr *)ret, ret_pitch, width, height,
                                          PITCH_ELEMENT_BYTES);
}

int rt_cudaMalloc3D(const struct driver *d, struct cudaPitchedPtr *ret, struct cudaExtent extent)
{
        size_t rows;

        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
                return CUDA_ERROR_OUT_OF_MEMORY;
        ret->xsize = extent.width;
        ret->ysize = extent.height;
        return rt_cudaMallocPitch(d, &ret->ptr, &ret->pitch, extent.width, rows);
}

int rt_cudaMallocManaged(const struct driver *d, void **ret, size_t bytes, unsigned int flags)
{
        return (int)d->cuMemAllocManaged((CUdeviceptr *)ret, bytes, flags);
}

int rt_cudaHostAlloc(const struct driver *d, void **ret, size_t bytes, unsigned int flags)
{
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = NULL;
        return bytes ? (int)d->cuMemHostAlloc(ret, bytes, flags) : 0;
}

int rt_cudaMallocHost(const struct driver *d, void **ret, size_t bytes)
{
        return rt_cudaHostAlloc(d, ret, bytes, 0);
}

int rt_cudaFreeHost(const struct driver *d, void *ptr)
{
        return ptr ? (int)d->cuMemFreeHost(ptr) : 0;
}

/* Describes a pointer. A pointer that the driver does not know is no error: its type
 * is cudaMemoryTypeUnregistered. */
int rt_cudaPointerGetAttributes(const struct driver *d, struct cudaPointerAttributes *ret,
                                const void *ptr)
{
        unsigned type = 0, is_managed = 0;
        int device = -1;
        CUdeviceptr on_device = 0;
        void *on_host = NULL;
        CUpointer_attribute asked[] = {
                CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
                CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                CU_POINTER_ATTRIBUTE_HOST_POINTER,
        };
        void *values[] = { &type, &is_managed, &device, &on_device, &on_host };
        int rc;

        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        rc = (int)d->cuPointerGetAttributes(5, asked, values, P(ptr));
        if (rc)
                return rc;
        memset(ret, 0, sizeof(*ret));
        ret->device = -2; /* the value for memory that belongs to no device */
        if (!type) {
                ret->type = cudaMemoryTypeUnregistered;
                ret->hostPointer = (void *)ptr;
                return 0;
        }
        ret->type = type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
        if (is_managed)
                ret->type = cudaMemoryTypeManaged;
        ret->device = device;
        ret->devicePointer = (void *)(uintptr_t)on_device;
        ret->hostPointer = on_host;
        return 0;
}

int rt_cudaIpcGetMemHandle(const struct driver *d, cudaIpcMemHandle_t *ret, void *ptr)
{
        return (int)d->cuIpcGetMemHandle(ret, P(ptr));
}

int rt_cudaGetSymbolAddress(const struct driver *d, void **ret, const void *symbol)
{
        size_t bytes;

        return ret ? registry_variable(symbol, (CUdeviceptr *)ret, &bytes)
                   : CUDA_ERROR_INVALID_VALUE;
}

int rt_cudaGetSymbolSize(const struct driver *d, size_t *ret, const void *symbol)
{
        CUdeviceptr address;

        return ret ? registry_variable(symbol, &address, ret) : CUDA_ERROR_INVALID_VALUE;
}

/* Fills a box, with one call of the driver if there is no gap between the slices. The fill is
 * synchronous if `stream` is NULL. */
static int fill_3d(const struct driver *d, struct cudaPitchedPtr to, int value,
                   struct cudaExtent extent, const cudaStream_t *stream)
{
        unsigned char byte = (unsigned char)value;
        size_t slices = extent.depth, rows = extent.height, slice = to.pitch * to.ysize;
        int rc = 0;

        if (!extent.width || !extent.height || !extent.depth)
                return 0;
        if (extent.width > to.pitch)
                return CUDA_ERROR_INVALID_VALUE;
        if (rows == to.ysize) {
                rows *= slices;
                slices = 1;
        }
        for (size_t i = 0; i < slices && !rc; i++) {
                CUdeviceptr at = P(to.ptr) + i * slice;

                if (stream)
                        rc = (int)d->cuMemsetD2D8Async(at, to.pitch, byte, extent.width, rows,
                                                       *stream);
                else
                        rc = (int)d->cuMemsetD2D8_v2(at, to.pitch, byte, extent.width, rows);
        }
        return rc;
}

int rt_cudaMemset3D(const struct driver *d, struct cudaPitchedPtr to, int value,
                    struct cudaExtent extent)
{
        return fill_3d(d, to, value, extent, NULL);
}

int rt_cudaMemset3DAsync(const struct driver *d, struct cudaPitchedPtr to, int value,
                         struct cudaExtent extent, cudaStream_t stream)
{
        return fill_3d(d, to, value, extent, &stream);
}
