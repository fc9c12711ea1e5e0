/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/measure/measure.h"

#include <elf.h>
#include <string.h>

#include "common/minmax.h"
#include "common/sums.h"
#include "shim/cuda/measure/measure_elf.h"
#include "shim/cuda/measure/measure_fatbin.h"

/* An array's rows are padded to multiples of 512 bytes, and the whole array to a multiple of 64
 * KiB. */
#define ARRAY_ROW_BYTES 512u
#define ARRAY_BLOCK_BYTES (64u << 10)

#define FATBIN_WRAPPER_MAGIC 0x466243b1u

/* Maximum length of a text image; PTX is never this long. */
#define TEXT_MAX ((size_t)64 << 20)

struct fatbin_wrapper {
        uint32_t magic;
        uint32_t version;
        const void *fatbin;
        const void *file_name;
};

uint64_t measure_round(uint64_t bytes, uint64_t grain)
{
        uint64_t padded = sum_of(bytes, grain - 1);

        return padded == UINT64_MAX ? UINT64_MAX : padded & ~(grain - 1);
}

uint64_t measure_pitch(uint64_t width_bytes, uint64_t height)
{
        return product_of(measure_round(width_bytes, MEASURE_PITCH_BYTES), height);
}

static struct measure_texel block_texel(CUarray_format format)
{
        switch (format) {
        case CU_AD_FORMAT_BC1_UNORM:
        case CU_AD_FORMAT_BC1_UNORM_SRGB:
        case CU_AD_FORMAT_BC4_UNORM:
        case CU_AD_FORMAT_BC4_SNORM:
                return (struct measure_texel){ 8, 4, 2 };
        default:
                return (struct measure_texel){ 16, 4, 2 };
        }
}

/* Returns the size of a luma element of a video format; chroma is counted in `halves` of the luma
 * plane. */
static struct measure_texel video_texel(CUarray_format format)
{
        switch (format) {
        case CU_AD_FORMAT_NV12:
                return (struct measure_texel){ 1, 1, 3 };
        case CU_AD_FORMAT_P010:
        case CU_AD_FORMAT_P016:
                return (struct measure_texel){ 2, 1, 3 };
        case CU_AD_FORMAT_NV16:
                return (struct measure_texel){ 1, 1, 4 };
        case CU_AD_FORMAT_P210:
        case CU_AD_FORMAT_P216:
                return (struct measure_texel){ 2, 1, 4 };
        case CU_AD_FORMAT_YUY2:
                return (struct measure_texel){ 2, 1, 2 };
        case CU_AD_FORMAT_Y210:
        case CU_AD_FORMAT_Y216:
        case CU_AD_FORMAT_AYUV:
        case CU_AD_FORMAT_Y410:
                return (struct measure_texel){ 4, 1, 2 };
        case CU_AD_FORMAT_Y416:
                return (struct measure_texel){ 8, 1, 2 };
        case CU_AD_FORMAT_Y444_PLANAR8:
        case CU_AD_FORMAT_YUV444_8bit_SemiPlanar:
                return (struct measure_texel){ 1, 1, 6 };
        case CU_AD_FORMAT_Y444_PLANAR10:
        case CU_AD_FORMAT_YUV444_16bit_SemiPlanar:
                return (struct measure_texel){ 2, 1, 6 };
        default:
                return (struct measure_texel){ 16, 1, 2 }; /* unknown format: assume the widest */
        }
}

struct measure_texel measure_texel(CUarray_format format, unsigned channels)
{
        unsigned bytes = 0;

        switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
                bytes = 1;
                break;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
                bytes = 2;
                break;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
                bytes = 4;
                break;
        default:
                break;
        }
        if (bytes)
                return (struct measure_texel){ bytes * channels, 1, 2 };
        if (format >= CU_AD_FORMAT_UNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4) {
                /* The formats are in this order: unorm 8x1 8x2 8x4 16x1 16x2 16x4, then snorm in
                 * the same order. */
                static const unsigned char widths[] = { 1, 2, 4, 2, 4, 8 };

                bytes = widths[(unsigned)(format - CU_AD_FORMAT_UNORM_INT8X1) % 6];
                return (struct measure_texel){ bytes, 1, 2 };
        }
        if (format == CU_AD_FORMAT_UNORM_INT_101010_2)
                return (struct measure_texel){ 4, 1, 2 };
        if (format >= CU_AD_FORMAT_BC1_UNORM && format <= CU_AD_FORMAT_BC7_UNORM_SRGB)
                return block_texel(format);
        return video_texel(format);
}

/* The extents of one mipmap level, each at least 1. In a layered array, `depth` is the number of
 * layers, which is the same in all levels. */
struct extents {
        uint64_t width, height, depth;
        bool is_layered;
};

static uint64_t level_bytes(struct measure_texel texel, const struct extents *at)
{
        uint64_t columns = at->width / texel.side + (at->width % texel.side != 0);
        uint64_t rows = at->height / texel.side + (at->height % texel.side != 0);
        uint64_t row_bytes = measure_round(product_of(columns, texel.bytes), ARRAY_ROW_BYTES);
        uint64_t bytes = product_of(product_of(row_bytes, rows), at->depth);

        return texel.halves == 2 ? bytes : product_of(bytes, texel.halves) / 2;
}

static bool owns_memory(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
        return shape->Width &&
               !(shape->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING));
}

uint64_t measure_array(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
        return measure_mipmap(shape, 1);
}

uint64_t measure_array_2d(const CUDA_ARRAY_DESCRIPTOR *shape)
{
        CUDA_ARRAY3D_DESCRIPTOR full = { .Width = shape->Width,
                                         .Height = shape->Height,
                                         .Format = shape->Format,
                                         .NumChannels = shape->NumChannels };

        return measure_array(&full);
}

/* The descriptors of the interface's first version have 32-bit sizes. */
uint64_t measure_array_2d_v1(const CUDA_ARRAY_DESCRIPTOR_v1 *shape)
{
        CUDA_ARRAY3D_DESCRIPTOR full = { .Width = shape->Width,
                                         .Height = shape->Height,
                                         .Format = shape->Format,
                                         .NumChannels = shape->NumChannels };

        return measure_array(&full);
}

uint64_t measure_array_v1(const CUDA_ARRAY3D_DESCRIPTOR_v1 *shape)
{
        CUDA_ARRAY3D_DESCRIPTOR full = { .Width = shape->Width,
                                         .Height = shape->Height,
                                         .Depth = shape->Depth,
                                         .Format = shape->Format,
                                         .NumChannels = shape->NumChannels,
                                         .Flags = shape->Flags };

        return measure_array(&full);
}

static struct extents extents_of(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
        return (struct extents){ .width = shape->Width,
                                 .height = max_u64(shape->Height, 1),
                                 .depth = max_u64(shape->Depth, 1),
                                 .is_layered = shape->Flags &
                                               (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) };
}

static bool is_last_level(const struct extents *at)
{
        return at->width == 1 && at->height == 1 && (at->is_layered || at->depth == 1);
}

static void to_next_level(struct extents *at)
{
        at->width = max_u64(at->width / 2, 1);
        at->height = max_u64(at->height / 2, 1);
        if (!at->is_layered)
                at->depth = max_u64(at->depth / 2, 1);
}

uint64_t measure_mipmap(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
        struct measure_texel texel = measure_texel(shape->Format, shape->NumChannels);
        struct extents at = extents_of(shape);
        uint64_t bytes = 0;

        if (!owns_memory(shape))
                return 0;
        for (unsigned i = 0; i < levels; i++) {
                bytes = sum_of(bytes, level_bytes(texel, &at));
                if (is_last_level(&at))
                        break;
                to_next_level(&at);
        }
        return measure_round(bytes, ARRAY_BLOCK_BYTES);
}

uint64_t measure_pool_growth(uint64_t bytes)
{
        return measure_round(bytes, MEASURE_POOL_BYTES);
}

uint64_t measure_graph_node(uint64_t bytes)
{
        return measure_round(bytes, MEASURE_PAGE_BYTES);
}

static uint64_t elf_bytes(const void *image)
{
        uint64_t file = measure_elf_file(image);

        return sum_of(file, measure_elf_zeros(image, file));
}

uint64_t measure_image(const void *image, unsigned capability)
{
        struct fatbin_wrapper wrapper;
        uint32_t magic;

        if (!image)
                return 0;
        /* Too short for a magic number: none contains a zero byte. */
        if (strnlen(image, sizeof(magic)) < sizeof(magic))
                return strnlen(image, sizeof(magic));
        memcpy(&magic, image, sizeof(magic));
        if (memcmp(image, ELFMAG, SELFMAG) == 0)
                return elf_bytes(image);
        if (magic == MEASURE_FATBIN_MAGIC)
                return measure_fatbin(image, MEASURE_FATBIN_UNBOUNDED, capability);
        if (magic == FATBIN_WRAPPER_MAGIC) {
                memcpy(&wrapper, image, sizeof(wrapper));
                return wrapper.fatbin ? measure_fatbin(wrapper.fatbin, MEASURE_FATBIN_UNBOUNDED,
                                                       capability)
                                      : 0;
        }
        return strnlen(image, TEXT_MAX);
}

uint64_t measure_file(const void *image, uint64_t bytes, unsigned capability)
{
        uint64_t loaded = measure_fatbin(image, bytes, capability);

        return loaded ? loaded : sum_of(bytes, measure_elf_zeros(image, bytes));
}

uint64_t measure_context(const char *model, uint64_t card_bytes)
{
        uint64_t most = card_bytes / 64;
        /* By part of the model's name; the first match counts. Sizes as NVML reports them for an
         * empty context with drivers 535 to 580. */
        static const struct {
                const char *part;
                uint64_t mib;
        } models[] = {
                { "T4", 104 },  { "H200", 520 }, { "H100", 520 }, { "A100", 424 }, { "B200", 640 },
                { "L40", 344 }, { "L4", 256 },   { "A10", 256 },  { "V100", 304 }, { "P100", 256 },
        };

        for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
                if (strstr(model, models[i].part))
                        return min_u64(models[i].mib << 20, most);
        }
        return min_u64(UINT64_C(400) << 20, most);
}
