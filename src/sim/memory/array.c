/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays: 1D, 2D, 3D, layered, cube maps, and mipmapped arrays.
 *
 * The rows of an array are 512 bytes apart, or a multiple of that. The array takes the size of all
 * rows rounded up to 64 KiB, as cuArrayGetMemoryRequirements reports. A mipmapped array is one
 * allocation; each level is an array that points into it and lives as long. Sparse arrays and
 * external formats (NV12, BC) are not modelled.
 */
#include <stddef.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/memory/vmm.h"
#include "sim/node/config.h"

#define ROW_BYTES 512ULL
#define ALIGNMENT (64ULL << 10)
#define MIPMAP_MAGIC 0x4d697073u
#define LEVELS 18
#define DIMENSION_MAX (1u << 20)

struct CUmipmappedArray_st {
        uint32_t magic; /* MIPMAP_MAGIC, or 0 when destroyed */
        unsigned level_count;
        CUcontext context;
        CUdeviceptr data;
        uint64_t bytes;
        struct CUarray_st level[LEVELS];
        struct CUmipmappedArray_st *next;
};

/* Lists of arrays and mipmapped arrays, guarded by process_lock. An entry stays for ever; its magic
 * shows whether it is live. */
static struct array_entry {
        struct CUarray_st array;
        struct array_entry *next;
} * entries;
static struct CUmipmappedArray_st *mipmaps;

static uint64_t channel_bytes(CUarray_format format)
{
        switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
                return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
                return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
                return 4;
        default:
                return 0;
        }
}

static uint64_t at_least_1(uint64_t value)
{
        return value ? value : 1;
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
        return to ? (value + to - 1) / to * to : value;
}

/* The driver reports requirements only for arrays with deferred mapping ("If the CUDA array is not
 * allocated with flag CUDA_ARRAY3D_DEFERRED_MAPPING CUDA_ERROR_INVALID_VALUE will be returned"),
 * and those are not modelled. */
static CUresult requirements_check(const void *ret)
{
        return ret && !config_get()->grants.has_no_array_requirements ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_VALUE;
}

/* Fills in the layout and `bytes` (not rounded) from the descriptor. */
static CUresult layout(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, struct CUarray_st *ret)
{
        uint64_t channel = channel_bytes(descriptor->Format);
        unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                         CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |
                         CUDA_ARRAY3D_COLOR_ATTACHMENT;
        unsigned channels = descriptor->NumChannels;

        if (descriptor->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
                return CUDA_ERROR_NOT_SUPPORTED;
        if (!channel || (channels != 1 && channels != 2 && channels != 4) ||
            descriptor->Width == 0 || (descriptor->Flags & ~known))
                return CUDA_ERROR_INVALID_VALUE;
        if (descriptor->Width > DIMENSION_MAX || descriptor->Height > DIMENSION_MAX ||
            descriptor->Depth > DIMENSION_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        if (descriptor->Height == 0 && descriptor->Depth > 0 &&
            !(descriptor->Flags & CUDA_ARRAY3D_LAYERED))
                return CUDA_ERROR_INVALID_VALUE;
        if (descriptor->Flags & CUDA_ARRAY3D_CUBEMAP) {
                if (descriptor->Width != descriptor->Height || descriptor->Depth == 0 ||
                    descriptor->Depth % 6 != 0 ||
                    (descriptor->Depth != 6 && !(descriptor->Flags & CUDA_ARRAY3D_LAYERED)))
                        return CUDA_ERROR_INVALID_VALUE;
        }
        ret->descriptor = *descriptor;
        ret->element_bytes = channel * channels;
        ret->pitch_bytes = round_up(descriptor->Width * ret->element_bytes, ROW_BYTES);
        ret->height = at_least_1(descriptor->Height);
        ret->depth = at_least_1(descriptor->Depth);
        if (__builtin_mul_overflow(ret->pitch_bytes * ret->height, ret->depth, &ret->bytes))
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

static CUresult array_make(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
        CUcontext context;
        CUresult result = context_require(&context);

        if (result != CUDA_SUCCESS)
                return result;
        struct array_entry *entry = calloc(1, sizeof(*entry));
        if (!entry)
                return CUDA_ERROR_OUT_OF_MEMORY;
        result = exec_capture_check_unsafe();
        if (result == CUDA_SUCCESS)
                result = layout(descriptor, &entry->array);
        if (result == CUDA_SUCCESS) {
                entry->array.bytes = round_up(entry->array.bytes, config_get()->grants.array_step);
                entry->array.context = context;
                result = home_make(context->unit, FAMILY_ARRAY, entry->array.bytes,
                                   &entry->array.data);
        }
        if (result != CUDA_SUCCESS) {
                free(entry);
                return result;
        }
        entry->array.magic = ARRAY_MAGIC;
        pthread_mutex_lock(&process_lock);
        entry->next = entries;
        entries = entry;
        pthread_mutex_unlock(&process_lock);
        *ret = &entry->array;
        return CUDA_SUCCESS;
}

CUresult sim_cuArrayCreate_v2(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR *flat)
{
        CUDA_ARRAY3D_DESCRIPTOR descriptor = { .Width = flat->Width,
                                               .Height = flat->Height,
                                               .Format = flat->Format,
                                               .NumChannels = flat->NumChannels };

        return array_make(ret, &descriptor);
}

CUresult sim_cuArray3DCreate_v2(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
        return array_make(ret, descriptor);
}

CUresult array_check(CUarray array)
{
        return array && array->magic == ARRAY_MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuArrayDestroy(CUcontext context, CUarray array)
{
        CUresult result = array_check(array);

        if (result != CUDA_SUCCESS || array->mipmap)
                return CUDA_ERROR_INVALID_HANDLE;
        exec_device_synchronize(array->context->device);
        pthread_mutex_lock(&process_lock);
        result = array_check(array);
        if (result == CUDA_SUCCESS)
                array->magic = 0;
        pthread_mutex_unlock(&process_lock);
        if (result != CUDA_SUCCESS)
                return result;
        home_end(array->context->unit, FAMILY_ARRAY,
                 &(struct memory_home){ array->data, array->bytes, 0 });
        return CUDA_SUCCESS;
}

CUresult sim_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *ret, CUarray array)
{
        CUresult result = array_check(array);

        if (result != CUDA_SUCCESS)
                return result;
        *ret = (CUDA_ARRAY_DESCRIPTOR){ .Width = array->descriptor.Width,
                                        .Height = array->descriptor.Height,
                                        .Format = array->descriptor.Format,
                                        .NumChannels = array->descriptor.NumChannels };
        return CUDA_SUCCESS;
}

CUresult sim_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *ret, CUarray array)
{
        CUresult result = array_check(array);

        if (result != CUDA_SUCCESS)
                return result;
        *ret = array->descriptor;
        return CUDA_SUCCESS;
}

CUresult sim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *ret, CUarray array,
                                          CUdevice device)
{
        CUresult result = array_check(array);

        if (result == CUDA_SUCCESS)
                result = requirements_check(ret);
        if (result != CUDA_SUCCESS)
                return result;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        *ret = (CUDA_ARRAY_MEMORY_REQUIREMENTS){ .size = array->bytes, .alignment = ALIGNMENT };
        return CUDA_SUCCESS;
}

CUresult sim_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *ret, CUarray array)
{
        CUresult result = array_check(array);

        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE; /* no array is sparse */
}

CUresult sim_cuArrayGetPlane(CUarray *ret, CUarray array, unsigned int plane)
{
        CUresult result = array_check(array);

        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE; /* no array is planar */
}

static unsigned level_max(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
        uint64_t longest = at_least_1(descriptor->Width);
        unsigned levels = 1;

        if (descriptor->Height > longest)
                longest = descriptor->Height;
        if (descriptor->Depth > longest && !(descriptor->Flags & CUDA_ARRAY3D_LAYERED))
                longest = descriptor->Depth;
        while (longest > 1 && levels < LEVELS) {
                longest /= 2;
                levels++;
        }
        return levels;
}

static uint64_t halve(uint64_t value, unsigned level)
{
        return value ? at_least_1(value >> level) : 0;
}

/* Places all levels one behind the other; `mipmap->bytes` is the rounded sum. */
static CUresult levels_layout(struct CUmipmappedArray_st *mipmap,
                              const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
        for (unsigned i = 0; i < mipmap->level_count; i++) {
                CUDA_ARRAY3D_DESCRIPTOR level = *descriptor;
                struct CUarray_st *array = &mipmap->level[i];

                level.Width = halve(descriptor->Width, i);
                level.Height = halve(descriptor->Height, i);
                if (!(descriptor->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
                        level.Depth = halve(descriptor->Depth, i);
                CUresult result = layout(&level, array);
                if (result != CUDA_SUCCESS)
                        return result;
                array->magic = ARRAY_MAGIC;
                array->data = mipmap->bytes; /* offset within the allocation, until that exists */
                array->mipmap = mipmap;
                mipmap->bytes += array->bytes;
        }
        mipmap->bytes = round_up(mipmap->bytes, config_get()->grants.array_step);
        return CUDA_SUCCESS;
}

CUresult sim_cuMipmappedArrayCreate(CUmipmappedArray *ret,
                                    const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int levels)
{
        if (!ret || !descriptor || levels == 0)
                return CUDA_ERROR_INVALID_VALUE;
        CUcontext context;
        CUresult result = context_require(&context);
        if (result != CUDA_SUCCESS)
                return result;
        CUmipmappedArray mipmap = calloc(1, sizeof(*mipmap));
        if (!mipmap)
                return CUDA_ERROR_OUT_OF_MEMORY;
        unsigned most = level_max(descriptor);
        mipmap->level_count = min_u32(levels, most);
        mipmap->context = context;
        result = exec_capture_check_unsafe();
        if (result == CUDA_SUCCESS)
                result = levels_layout(mipmap, descriptor);
        if (result == CUDA_SUCCESS)
                result = home_make(context->unit, FAMILY_ARRAY, mipmap->bytes, &mipmap->data);
        if (result != CUDA_SUCCESS) {
                free(mipmap);
                return result;
        }
        for (unsigned i = 0; i < mipmap->level_count; i++) {
                mipmap->level[i].data += mipmap->data;
                mipmap->level[i].context = context;
        }
        mipmap->magic = MIPMAP_MAGIC;
        pthread_mutex_lock(&process_lock);
        mipmap->next = mipmaps;
        mipmaps = mipmap;
        pthread_mutex_unlock(&process_lock);
        *ret = mipmap;
        return CUDA_SUCCESS;
}

static CUresult mipmap_check(CUmipmappedArray mipmap)
{
        return mipmap && mipmap->magic == MIPMAP_MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuMipmappedArrayGetLevel(CUarray *ret, CUmipmappedArray mipmap, unsigned int level)
{
        CUresult result = mipmap_check(mipmap);

        if (result != CUDA_SUCCESS)
                return result;
        if (level >= mipmap->level_count)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = &mipmap->level[level];
        return CUDA_SUCCESS;
}

CUresult sim_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *ret,
                                                   CUmipmappedArray mipmap, CUdevice device)
{
        CUresult result = mipmap_check(mipmap);

        if (result == CUDA_SUCCESS)
                result = requirements_check(ret);
        if (result != CUDA_SUCCESS)
                return result;
        if (!device_is_valid(device))
                return CUDA_ERROR_INVALID_DEVICE;
        *ret = (CUDA_ARRAY_MEMORY_REQUIREMENTS){ .size = mipmap->bytes, .alignment = ALIGNMENT };
        return CUDA_SUCCESS;
}

CUresult sim_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *ret,
                                                 CUmipmappedArray mipmap)
{
        CUresult result = mipmap_check(mipmap);

        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE; /* no array is sparse */
}

static void mipmap_end(CUmipmappedArray mipmap)
{
        for (unsigned i = 0; i < mipmap->level_count; i++)
                mipmap->level[i].magic = 0;
        home_end(mipmap->context->unit, FAMILY_ARRAY,
                 &(struct memory_home){ mipmap->data, mipmap->bytes, 0 });
}

CUresult sim_cuMipmappedArrayDestroy(CUcontext context, CUmipmappedArray mipmap)
{
        CUresult result = mipmap_check(mipmap);

        if (result != CUDA_SUCCESS)
                return result;
        exec_device_synchronize(mipmap->context->device);
        pthread_mutex_lock(&process_lock);
        result = mipmap_check(mipmap);
        if (result == CUDA_SUCCESS)
                mipmap->magic = 0;
        pthread_mutex_unlock(&process_lock);
        if (result != CUDA_SUCCESS)
                return result;
        mipmap_end(mipmap);
        return CUDA_SUCCESS;
}

void arrays_context_close(CUcontext context)
{
        pthread_mutex_lock(&process_lock);
        for (struct array_entry *entry = entries; entry; entry = entry->next) {
                struct CUarray_st *array = &entry->array;

                if (array->magic == ARRAY_MAGIC && array->context == context) {
                        array->magic = 0;
                        home_end(context->unit, FAMILY_ARRAY,
                                 &(struct memory_home){ array->data, array->bytes, 0 });
                }
        }
        for (CUmipmappedArray mipmap = mipmaps; mipmap; mipmap = mipmap->next) {
                if (mipmap->magic == MIPMAP_MAGIC && mipmap->context == context) {
                        mipmap->magic = 0;
                        mipmap_end(mipmap);
                }
        }
        pthread_mutex_unlock(&process_lock);
}
