/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates and describes arrays. The runtime describes an element by the bits of each channel, the
 * driver by a format and the number of channels.
 */
#include "cudart/copy.h"
#include "cudart/hand.h"

#include <string.h>

static const struct {
        int kind, bits;
        CUarray_format format;
} formats[] = {
        { cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8 },
        { cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16 },
        { cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32 },
        { cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8 },
        { cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16 },
        { cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32 },
        { cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF },
        { cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static bool format_of(const struct cudaChannelFormatDesc *channel, CUDA_ARRAY3D_DESCRIPTOR *ret)
{
        ret->NumChannels = !!channel->x + !!channel->y + !!channel->z + !!channel->w;
        for (size_t i = 0; i < FORMATS; i++) {
                if (formats[i].kind == channel->f && formats[i].bits == channel->x) {
                        ret->Format = formats[i].format;
                        return true;
                }
        }
        return false;
}

static void channel_of(const CUDA_ARRAY3D_DESCRIPTOR *array, struct cudaChannelFormatDesc *ret)
{
        memset(ret, 0, sizeof(*ret));
        ret->f = cudaChannelFormatKindNone;
        for (size_t i = 0; i < FORMATS; i++) {
                if (formats[i].format != array->Format)
                        continue;
                ret->f = formats[i].kind;
                ret->x = formats[i].bits;
                ret->y = array->NumChannels > 1 ? formats[i].bits : 0;
                ret->z = array->NumChannels > 2 ? formats[i].bits : 0;
                ret->w = array->NumChannels > 3 ? formats[i].bits : 0;
        }
}

EXPORT struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f);
EXPORT struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f)
{
        return (struct cudaChannelFormatDesc){ x, y, z, w, f };
}

size_t array_element_bytes(const struct driver *d, CUarray array)
{
        CUDA_ARRAY3D_DESCRIPTOR descriptor;
        struct cudaChannelFormatDesc channel;

        if (d->cuArray3DGetDescriptor_v2(&descriptor, array))
                return 0;
        channel_of(&descriptor, &channel);
        return (size_t)(channel.x + channel.y + channel.z + channel.w) / 8;
}

static int describe(const struct cudaChannelFormatDesc *channel, struct cudaExtent extent,
                    unsigned flags, CUDA_ARRAY3D_DESCRIPTOR *ret)
{
        if (!channel)
                return CUDA_ERROR_INVALID_VALUE;
        memset(ret, 0, sizeof(*ret));
        ret->Width = extent.width;
        ret->Height = extent.height;
        ret->Depth = extent.depth;
        ret->Flags = flags;
        return format_of(channel, ret) ? 0 : CUDA_ERROR_INVALID_VALUE;
}

int rt_cudaMalloc3DArray(const struct driver *d, cudaArray_t *ret,
                         const struct cudaChannelFormatDesc *channel, struct cudaExtent extent,
                         unsigned int flags)
{
        CUDA_ARRAY3D_DESCRIPTOR descriptor;
        int rc = describe(channel, extent, flags, &descriptor);

        return rc ? rc : (int)d->cuArray3DCreate_v2(ret, &descriptor);
}

int rt_cudaMallocArray(const struct driver *d, cudaArray_t *ret,
                       const struct cudaChannelFormatDesc *channel, size_t width, size_t height,
                       unsigned int flags)
{
        return rt_cudaMalloc3DArray(d, ret, channel, (struct cudaExtent){ width, height, 0 },
                                    flags);
}

int rt_cudaMallocMipmappedArray(const struct driver *d, cudaMipmappedArray_t *ret,
                                const struct cudaChannelFormatDesc *channel,
                                struct cudaExtent extent, unsigned int levels, unsigned int flags)
{
        CUDA_ARRAY3D_DESCRIPTOR descriptor;
        int rc = describe(channel, extent, flags, &descriptor);

        return rc ? rc : (int)d->cuMipmappedArrayCreate(ret, &descriptor, levels);
}

int rt_cudaFreeArray(const struct driver *d, cudaArray_t array)
{
        return array ? (int)d->cuArrayDestroy(array) : 0;
}

int rt_cudaFreeMipmappedArray(const struct driver *d, cudaMipmappedArray_t array)
{
        return array ? (int)d->cuMipmappedArrayDestroy(array) : 0;
}

int rt_cudaArrayGetInfo(const struct driver *d, struct cudaChannelFormatDesc *ret_channel,
                        struct cudaExtent *ret_extent, unsigned int *ret_flags, cudaArray_t array)
{
        CUDA_ARRAY3D_DESCRIPTOR found;
        int rc = (int)d->cuArray3DGetDescriptor_v2(&found, array);

        if (rc)
                return rc;
        if (ret_channel)
                channel_of(&found, ret_channel);
        if (ret_extent)
                *ret_extent = (struct cudaExtent){ found.Width, found.Height, found.Depth };
        if (ret_flags)
                *ret_flags = found.Flags;
        return 0;
}

int rt_cudaGetChannelDesc(const struct driver *d, struct cudaChannelFormatDesc *ret,
                          cudaArray_const_t array)
{
        return rt_cudaArrayGetInfo(d, ret, NULL, NULL, array);
}
