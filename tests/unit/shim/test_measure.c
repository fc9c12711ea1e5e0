/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures are exact or upper bounds, and never small because they overflowed: a request of absurd
 * size must be refused by the limit, not granted as nothing.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/cuda/measure/measure.h"
#include "shim/cuda/measure/measure_elf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

static void rounding_saturates(void **unused)
{
        (void)unused;
        assert_int_equal(measure_round(0, 512), 0);
        assert_int_equal(measure_round(1, 512), 512);
        assert_int_equal(measure_round(512, 512), 512);
        assert_true(measure_round(UINT64_MAX - 5, 512) == UINT64_MAX);
}

static void pitch_is_rows_of_512(void **unused)
{
        (void)unused;
        assert_int_equal(measure_pitch(1, 10), 5120);
        assert_int_equal(measure_pitch(513, 2), 2048);
        assert_int_equal(measure_pitch(0, 100), 0);
        assert_true(measure_pitch(SIZE_MAX, 2) == UINT64_MAX);
}

static uint64_t array_of(size_t width, size_t height, size_t depth, unsigned flags)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = width,
                                          .Height = height,
                                          .Depth = depth,
                                          .Format = CU_AD_FORMAT_FLOAT,
                                          .NumChannels = 2,
                                          .Flags = flags };

        return measure_array(&shape);
}

static void arrays_have_rows_and_blocks(void **unused)
{
        (void)unused;
        assert_int_equal(array_of(1, 0, 0, 0), 64 * KIB);
        assert_int_equal(array_of(64, 128, 0, 0), 64 * KIB);
        assert_int_equal(array_of(65, 128, 0, 0), 128 * KIB);
        assert_int_equal(array_of(64, 128, 3, 0), 192 * KIB);
        assert_int_equal(array_of(64, 128, 3, CUDA_ARRAY3D_LAYERED), 192 * KIB);
        assert_true(array_of(SIZE_MAX, SIZE_MAX, 2, 0) == UINT64_MAX);
}

/* Every interface of the driver describes an array in its own struct: the bytes are the same. */
static void an_array_is_as_large_by_every_descriptor(void **unused)
{
        CUDA_ARRAY_DESCRIPTOR flat = { 65, 128, CU_AD_FORMAT_FLOAT, 2 };
        CUDA_ARRAY_DESCRIPTOR_v1 flat_v1 = { 65, 128, CU_AD_FORMAT_FLOAT, 2 };
        CUDA_ARRAY3D_DESCRIPTOR_v1 deep_v1 = { 64, 128, 3, CU_AD_FORMAT_FLOAT, 2, 0 };
        CUDA_ARRAY3D_DESCRIPTOR_v1 sparse_v1 = deep_v1;

        (void)unused;
        sparse_v1.Flags = CUDA_ARRAY3D_SPARSE;
        assert_int_equal(measure_array_2d(&flat), array_of(65, 128, 0, 0));
        assert_int_equal(measure_array_2d_v1(&flat_v1), array_of(65, 128, 0, 0));
        assert_int_equal(measure_array_v1(&deep_v1), array_of(64, 128, 3, 0));
        assert_int_equal(measure_array_v1(&sparse_v1), 0);
}

static void arrays_without_memory_of_their_own_are_free(void **unused)
{
        (void)unused;
        assert_int_equal(array_of(64, 64, 0, CUDA_ARRAY3D_SPARSE), 0);
        assert_int_equal(array_of(64, 64, 0, CUDA_ARRAY3D_DEFERRED_MAPPING), 0);
        assert_int_equal(array_of(0, 64, 0, 0), 0);
}

static void every_format_is_measured(void **unused)
{
        (void)unused;
        for (int format = 0; format < 256; format++) {
                struct measure_texel texel = measure_texel((CUarray_format)format, 4);

                assert_true(texel.bytes > 0 && texel.side > 0 && texel.halves >= 2);
        }
        assert_int_equal(measure_texel(CU_AD_FORMAT_HALF, 4).bytes, 8);
        assert_int_equal(measure_texel(CU_AD_FORMAT_UNORM_INT16X4, 1).bytes, 8);
        assert_int_equal(measure_texel(CU_AD_FORMAT_SNORM_INT8X2, 1).bytes, 2);
        assert_int_equal(measure_texel(CU_AD_FORMAT_BC1_UNORM, 4).bytes, 8);
        assert_int_equal(measure_texel(CU_AD_FORMAT_BC7_UNORM, 4).side, 4);
        assert_int_equal(measure_texel(CU_AD_FORMAT_NV12, 3).halves, 3);
}

static void mipmaps_are_the_sum_of_their_levels(void **unused)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = {
                .Width = 256, .Height = 256, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
        };
        uint64_t rows = 256 * KIB / 256 * 256 + 128 * 512 + 64 * 512;

        (void)unused;
        assert_int_equal(measure_mipmap(&shape, 1), 256 * KIB);
        assert_int_equal(measure_mipmap(&shape, 3), measure_round(rows, 64 * KIB));
        /* More levels than there are: the last is one element. */
        assert_int_equal(measure_mipmap(&shape, 9), measure_mipmap(&shape, 1000000));
        assert_int_equal(measure_mipmap(&shape, 0), 0);
}

static void reservations_grow_in_steps(void **unused)
{
        (void)unused;
        assert_int_equal(measure_pool_growth(1), 32 * MIB);
        assert_int_equal(measure_pool_growth(33 * MIB), 64 * MIB);
        assert_int_equal(measure_graph_node(1), 2 * MIB);
        assert_true(measure_pool_growth(UINT64_MAX) == UINT64_MAX);
}

struct fat_part {
        uint16_t kind, version;
        uint32_t header_bytes;
        uint64_t payload_bytes;
        uint32_t compressed_bytes, options;
        uint16_t minor, major;
        uint32_t architecture, name[2];
        uint64_t flags, zero, uncompressed_bytes;
        char payload[80];
};

struct fat_image {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t body_bytes;
        struct fat_part part[4];
};

enum { PTX = 1, CUBIN = 2, LZ4 = 0x2000, ZSTANDARD = 0x8000 };

static struct fat_part fat_part(unsigned kind, unsigned architecture, uint64_t flags,
                                uint64_t uncompressed)
{
        return (struct fat_part){ .kind = (uint16_t)kind,
                                  .header_bytes = offsetof(struct fat_part, payload),
                                  .payload_bytes = sizeof(((struct fat_part *)0)->payload),
                                  .architecture = architecture,
                                  .flags = flags,
                                  .uncompressed_bytes = uncompressed };
}

static struct fat_image fat_image(void)
{
        return (struct fat_image){
                .magic = 0xba55ed50u,
                .header_bytes = 16,
                .body_bytes = sizeof(((struct fat_image *)0)->part),
                .part = { fat_part(CUBIN, 80, LZ4, 800), fat_part(CUBIN, 86, ZSTANDARD, 860),
                          fat_part(PTX, 80, LZ4, 700), fat_part(CUBIN, 90, 0, 0) },
        };
}

static void a_fat_binary_is_as_large_as_what_the_device_loads(void **unused)
{
        struct fat_image fat = fat_image();

        (void)unused;
        assert_int_equal(measure_image(&fat, 80), 800);
        assert_int_equal(measure_image(&fat, 89), 860); /* of its major version, and not newer */
        assert_int_equal(measure_image(&fat, 90), 80);  /* not compressed */
        assert_int_equal(measure_image(&fat, 100), 700);
        assert_int_equal(measure_image(&fat, 75), sizeof(fat)); /* nothing fits */
        assert_int_equal(measure_image(&fat, 0), sizeof(fat));
        fat.part[0] = fat_part(PTX, 90, LZ4, 900);
        assert_int_equal(measure_image(&fat, 100), 900); /* the newest */
        assert_int_equal(measure_image(&fat, 90), 80);   /* machine code comes before it */
}

/* What a header says is believed as far as it can be true; else the whole image is charged. */
static void a_fat_binary_that_lies_is_charged_whole(void **unused)
{
        struct fat_image fat = fat_image();

        (void)unused;
        fat.part[1].uncompressed_bytes = UINT64_MAX;
        assert_int_equal(measure_image(&fat, 86), 80);
        fat.part[1].uncompressed_bytes = 3;
        assert_int_equal(measure_image(&fat, 86), 80);
        fat.part[2].payload_bytes = UINT64_MAX;
        assert_int_equal(measure_image(&fat, 90), sizeof(fat));
        fat.part[2].payload_bytes = sizeof(fat);
        assert_int_equal(measure_image(&fat, 90), sizeof(fat));
        fat = fat_image();
        fat.part[2].header_bytes = 0; /* a walk that would not get on */
        assert_int_equal(measure_image(&fat, 90), sizeof(fat));
        fat.part[2].header_bytes = UINT32_MAX;
        assert_int_equal(measure_image(&fat, 90), sizeof(fat));
        fat = fat_image();
        fat.header_bytes = 3; /* the parts would lie in the header */
        assert_int_equal(measure_image(&fat, 80), 3 + sizeof(fat.part));
        fat.header_bytes = 16;
        fat.body_bytes = UINT64_MAX;
        assert_true(measure_image(&fat, 80) == UINT64_MAX);
}

/* `bytes` of it lie right before a page that cannot be read. */
static const void *at_the_end(const void *image, size_t bytes, char *pages)
{
        mprotect(pages + 4096, 4096, PROT_NONE);
        return memcpy(pages + 4096 - bytes, image, bytes);
}

static void a_file_is_read_to_its_end_only(void **unused)
{
        char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct fat_image fat = fat_image();

        (void)unused;
        for (size_t bytes = 1; bytes < sizeof(fat); bytes++) {
                /* It is cut off, or says that it is not. */
                fat.body_bytes = sizeof(fat.part);
                assert_int_equal(measure_file(at_the_end(&fat, bytes, pages), bytes, 90), bytes);
                fat.body_bytes = bytes > 16 ? bytes - 16 : 0;
                assert_in_range(measure_file(at_the_end(&fat, bytes, pages), bytes, 90), 1, 860);
                assert_in_range(measure_file(at_the_end(&fat, bytes, pages), bytes, 80), 1, 860);
        }
        fat.body_bytes = sizeof(fat.part);
        assert_int_equal(measure_file(at_the_end(&fat, sizeof(fat), pages), sizeof(fat), 90), 80);
        assert_int_equal(measure_file(at_the_end("..", 2, pages), 2, 90), 2);
        munmap(pages, 8192);
}

static void images_tell_their_size(void **unused)
{
        struct {
                uint32_t magic;
                uint16_t version, header_bytes;
                uint64_t body_bytes;
                char body[1000];
        } fatbin = { 0xba55ed50u, 1, 16, 1000, "" };
        struct {
                uint32_t magic, version;
                const void *fatbin, *name;
        } wrapper = { 0x466243b1u, 1, &fatbin, NULL };
        Elf64_Ehdr elf = { .e_shoff = 5000, .e_shnum = 3, .e_shentsize = 64 };

        (void)unused;
        memcpy(elf.e_ident, ELFMAG, SELFMAG);
        elf.e_ident[EI_CLASS] = ELFCLASS64;
        assert_int_equal(measure_image(NULL, 90), 0);
        assert_int_equal(measure_image("", 90), 0);
        assert_int_equal(measure_image("//", 90), 2);
        assert_int_equal(measure_image(".version 8.0", 90), 12);
        assert_int_equal(measure_image(&fatbin, 90), 1016);
        assert_int_equal(measure_image(&wrapper, 90), 1016);
        assert_int_equal(measure_image(&elf, 90), 5192);
        wrapper.fatbin = NULL;
        assert_int_equal(measure_image(&wrapper, 90), 0);
        elf.e_shoff = UINT64_MAX;
        assert_true(measure_image(&elf, 90) == UINT64_MAX);
}

struct elf_image {
        Elf64_Ehdr header;
        Elf64_Phdr segment[3];
        char names[32];
        Elf64_Shdr section[4];
};

static struct elf_image make_elf(unsigned machine)
{
        struct elf_image elf = {
                .header = { .e_machine = (uint16_t)machine,
                            .e_phoff = offsetof(struct elf_image, segment),
                            .e_phnum = 3,
                            .e_phentsize = sizeof(Elf64_Phdr),
                            .e_shoff = offsetof(struct elf_image, section),
                            .e_shnum = 4,
                            .e_shentsize = sizeof(Elf64_Shdr) },
                .segment = { { .p_type = PT_LOAD, .p_filesz = 10, .p_memsz = 1010 },
                             { .p_type = PT_LOAD, .p_filesz = 10, .p_memsz = 5 },
                             { .p_type = PT_NOTE, .p_memsz = 7000 } },
                .names = ".nv.shared.f\0.nv.global",
                .section = { { .sh_type = SHT_STRTAB,
                               .sh_offset = offsetof(struct elf_image, names),
                               .sh_size = 32 },
                             { .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC, .sh_size = 30000 },
                             { .sh_type = SHT_NOBITS,
                               .sh_flags = SHF_ALLOC,
                               .sh_size = 4000,
                               .sh_name = 13 },
                             { .sh_type = SHT_NOBITS, .sh_size = 500 } },
        };

        memcpy(elf.header.e_ident, ELFMAG, SELFMAG);
        elf.header.e_ident[EI_CLASS] = ELFCLASS64;
        return elf;
}

static void zeroed_memory_of_a_module_is_counted(void **unused)
{
        struct elf_image host = make_elf(EM_X86_64), cubin = make_elf(190);

        (void)unused;
        assert_int_equal(measure_image(&host, 90), sizeof(host) + 1000);
        assert_int_equal(measure_image(&cubin, 90), sizeof(cubin) + 4000);
        cubin.segment[0].p_memsz = 9010;
        assert_int_equal(measure_image(&cubin, 90), sizeof(cubin) + 9000);
        host.segment[1].p_memsz = UINT64_MAX;
        assert_true(measure_image(&host, 90) == UINT64_MAX);
}

static void zeroed_memory_in_a_fat_binary_is_counted(void **unused)
{
        struct {
                uint32_t magic;
                uint16_t version, header_bytes;
                uint64_t body_bytes;
                char part[offsetof(struct fat_part, payload)];
                struct elf_image cubin;
        } fat = { 0xba55ed50u, 1, 16, sizeof(fat) - 16, "", make_elf(190) };
        struct fat_part part = fat_part(CUBIN, 90, 0, 0);

        (void)unused;
        part.payload_bytes = sizeof(fat.cubin);
        memcpy(fat.part, &part, sizeof(fat.part));
        assert_int_equal(measure_image(&fat, 90), sizeof(fat.cubin) + 4000);
        /* Compressed, it would not be read. */
        part.flags = LZ4;
        memcpy(fat.part, &part, sizeof(fat.part));
        assert_int_equal(measure_image(&fat, 90), sizeof(fat.cubin));
}

/* Whatever the headers claim, nothing outside of the image is read. */
static void headers_outside_of_an_image_are_not_read(void **unused)
{
        const uint64_t places[] = { sizeof(struct elf_image) - 1, 1u << 30, UINT64_MAX,
                                    UINT64_MAX - 60 };
        struct elf_image *elf = malloc(sizeof(*elf));

        (void)unused;
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
                *elf = make_elf(190);
                elf->header.e_phoff = places[i];
                assert_int_equal(measure_image(elf, 90), sizeof(*elf) + 4000);
                elf->section[0].sh_offset = places[i];
                assert_int_equal(measure_image(elf, 90), sizeof(*elf) + 34000);
                elf->header.e_shstrndx = 77;
                assert_int_equal(measure_image(elf, 90), sizeof(*elf) + 34000);
                assert_int_equal(measure_elf_zeros(elf, sizeof(elf->header)), 0);
                assert_int_equal(measure_elf_zeros(elf, 3), 0);
        }
        free(elf);
}

/* The page before the end of memory: nothing beyond the terminating zero may be read. */
static void a_short_text_is_read_to_its_end_only(void **unused)
{
        char *text = malloc(3);

        (void)unused;
        memcpy(text, "ab", 3);
        assert_int_equal(measure_image(text, 90), 2);
        free(text);
}

static void contexts_go_by_model_and_card(void **unused)
{
        (void)unused;
        assert_int_equal(measure_context("NVIDIA H200", 141 * GIB), 520 * MIB);
        assert_int_equal(measure_context("NVIDIA A100-SXM4-80GB", 80 * GIB), 424 * MIB);
        assert_int_equal(measure_context("Tesla T4", 15 * GIB), 104 * MIB);
        assert_int_equal(measure_context("something new", 100 * GIB), 400 * MIB);
        assert_int_equal(measure_context("NVIDIA H200", GIB), 16 * MIB);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rounding_saturates),
                cmocka_unit_test(pitch_is_rows_of_512),
                cmocka_unit_test(arrays_have_rows_and_blocks),
                cmocka_unit_test(an_array_is_as_large_by_every_descriptor),
                cmocka_unit_test(arrays_without_memory_of_their_own_are_free),
                cmocka_unit_test(every_format_is_measured),
                cmocka_unit_test(mipmaps_are_the_sum_of_their_levels),
                cmocka_unit_test(reservations_grow_in_steps),
                cmocka_unit_test(a_fat_binary_is_as_large_as_what_the_device_loads),
                cmocka_unit_test(a_fat_binary_that_lies_is_charged_whole),
                cmocka_unit_test(a_file_is_read_to_its_end_only),
                cmocka_unit_test(images_tell_their_size),
                cmocka_unit_test(zeroed_memory_of_a_module_is_counted),
                cmocka_unit_test(zeroed_memory_in_a_fat_binary_is_counted),
                cmocka_unit_test(headers_outside_of_an_image_are_not_read),
                cmocka_unit_test(a_short_text_is_read_to_its_end_only),
                cmocka_unit_test(contexts_go_by_model_and_card),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
