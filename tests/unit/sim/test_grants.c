/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants=real: what a driver takes for what it is asked, rule by rule. The figures are those that
 * an H200 answered (docs/simulator-memory.md), unless a comment says otherwise.
 */
#include "memory_stage.h"

#include <errno.h>
#include <string.h>

#include "sim/context/device.h"
#include "sim/node/config.h"
#include "sim/node/image.h"

#define KIB 1024ULL
#define CONTEXT (518 * MIB)
#define PTX ".version 8.0\n.target sm_90\n.address_size 64\n"

static CUcontext context;

static uint64_t all(void)
{
        return stage_device_current(0) - CONTEXT;
}

static int make_context(void **state)
{
        context = stage_context();
        return 0;
}

static CUdeviceptr alloc(uint64_t bytes)
{
        CUdeviceptr at;

        assert_ok(cuMemAlloc_v2(&at, bytes));
        return at;
}

static void a_context_takes_what_it_takes_and_a_second_one_as_much(void **state)
{
        CUcontext second;

        assert_int_equal(stage_granted(0, FAMILY_CONTEXT), 543162368);
        assert_ok(cuCtxCreate_v2(&second, 0, 0));
        assert_int_equal(stage_granted(0, FAMILY_CONTEXT), 2 * 543162368);
        assert_ok(cuCtxDestroy_v2(second));
        assert_ok(cuCtxSetCurrent(context));
}

static void small_blocks_share_slabs(void **state)
{
        CUdeviceptr at[1000], first;

        first = alloc(1);
        assert_int_equal(all(), 2 * MIB);
        assert_ok(cuMemFree_v2(first));
        assert_int_equal(all(), 0);
        for (unsigned i = 0; i < 1000; i++)
                at[i] = alloc(4 * KIB);
        assert_int_equal(all(), 4 * MIB);
        for (unsigned i = 0; i < 1000; i += 2)
                assert_ok(cuMemFree_v2(at[i]));
        assert_int_equal(all(), 4 * MIB);
        first = alloc(4 * KIB); /* where another was */
        assert_int_equal(all(), 4 * MIB);
        assert_ok(cuMemFree_v2(first));
        for (unsigned i = 1; i < 1000; i += 2)
                assert_ok(cuMemFree_v2(at[i]));
        assert_int_equal(all(), 0);
}

/* Where the step lies between 1 byte and 3 MiB was not measured. */
static void larger_blocks_are_whole_pages(void **state)
{
        CUdeviceptr half = alloc(1 * MIB), other = alloc(1 * MIB), more;

        assert_int_equal(all(), 2 * MIB);
        more = alloc(1 * MIB + 1);
        assert_int_equal(all(), 4 * MIB);
        assert_ok(cuMemFree_v2(more));
        more = alloc(3 * MIB);
        assert_int_equal(all(), 6 * MIB);
        assert_ok(cuMemFree_v2(more));
        more = alloc(64 * MIB);
        assert_int_equal(all(), 66 * MIB);
        assert_ok(cuMemFree_v2(more));
        assert_ok(cuMemFree_v2(half));
        assert_ok(cuMemFree_v2(other));
        assert_int_equal(all(), 0);
}

static void pitched_memory_and_arrays_are_whole_pages(void **state)
{
        CUDA_ARRAY_DESCRIPTOR flat = { 1000, 1000, CU_AD_FORMAT_FLOAT, 4 };
        CUDA_ARRAY_DESCRIPTOR line = { 65536, 0, CU_AD_FORMAT_FLOAT, 1 };
        CUDA_ARRAY3D_DESCRIPTOR wide = {
                .Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4
        };
        CUDA_ARRAY_MEMORY_REQUIREMENTS requirements;
        CUmipmappedArray levels;
        CUarray array;
        CUdeviceptr at;
        size_t pitch;

        assert_ok(cuMemAllocPitch_v2(&at, &pitch, 16384, 1000, 4));
        assert_int_equal(all(), 16777216);
        assert_ok(cuMemFree_v2(at));
        assert_ok(cuArrayCreate_v2(&array, &flat));
        assert_int_equal(all(), 16777216);
        assert_int_equal(cuArrayGetMemoryRequirements(&requirements, array, 0),
                         CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuArrayDestroy(array));
        assert_ok(cuArrayCreate_v2(&array, &line));
        assert_int_equal(all(), 2 * MIB);
        assert_ok(cuArrayDestroy(array));
        assert_ok(cuMipmappedArrayCreate(&levels, &wide, 11));
        assert_int_equal(all(), 23068672);
        assert_int_equal(cuMipmappedArrayGetMemoryRequirements(&requirements, levels, 0),
                         CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuMipmappedArrayDestroy(levels));
        assert_int_equal(all(), 0);
}

/* That it counts once it was prefetched is assumed. */
static void managed_memory_counts_while_the_device_has_it(void **state)
{
        CUdeviceptr at;

        assert_ok(cuMemAllocManaged(&at, 64 * MIB, CU_MEM_ATTACH_GLOBAL));
        memset((void *)(uintptr_t)at, 1, 4096);
        assert_int_equal(all(), 0);
        assert_ok(cuMemPrefetchAsync(at, 64 * MIB, 0, NULL));
        assert_ok(cuMemPrefetchAsync(at, 64 * MIB, 0, NULL));
        assert_int_equal(all(), 64 * MIB);
        assert_ok(cuMemPrefetchAsync(at, 64 * MIB, CU_DEVICE_CPU, NULL));
        assert_int_equal(all(), 0);
        assert_ok(cuMemPrefetchAsync(at, 64 * MIB, 0, NULL));
        assert_ok(cuMemFree_v2(at));
        assert_int_equal(all(), 0);
}

static void a_context_grows_by_its_stacks_at_once_and_by_its_heap_later(void **state)
{
        size_t bytes;

        assert_ok(cuCtxGetLimit(&bytes, CU_LIMIT_PRINTF_FIFO_SIZE));
        assert_int_equal(bytes, 8650752);
        assert_ok(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
        assert_int_equal(all(), 830472192);
        assert_ok(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024));
        assert_int_equal(all(), 0);
        assert_ok(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 * MIB));
        assert_ok(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 16 * MIB));
        assert_int_equal(all(), 0);
}

/* By the programming guide; until when they may be set, by the manual of cuCtxSetLimit. */
static void heap_and_printf_buffer_come_with_the_module_that_needs_them(void **state)
{
        CUmodule module;
        CUcontext own;

        assert_ok(cuCtxCreate_v2(&own, 0, 0));
        uint64_t before = all();
        assert_ok(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 * MIB));
        assert_ok(cuModuleLoadData(&module, PTX ".extern .func (.param .b64 r) malloc\n"
                                                "(.param .b64 n);\n.visible .entry f() { ret; }"));
        assert_int_equal(all() - before, 64 * MIB);
        assert_int_equal(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 32 * MIB),
                         CUDA_ERROR_INVALID_VALUE);
        assert_ok(cuModuleLoadData(&module, PTX ".extern .func (.param .b32 r) vprintf\n"
                                                "(.param .b64 f);\n.visible .entry g() { ret; }"));
        assert_int_equal(all() - before, 64 * MIB + 10 * MIB);
        assert_ok(cuCtxDestroy_v2(own));
        assert_ok(cuCtxSetCurrent(context));
        assert_int_equal(all(), 0);
}

static void a_module_takes_its_variables_when_it_is_loaded(void **state)
{
        static const char large[] = PTX ".visible .global .align 4 .b8 table[33554432];\n"
                                        ".extern .global .align 4 .b8 elsewhere[1048576];\n"
                                        ".visible .entry f(.param .u64 .ptr .global p) { ret; }";
        CUmodule module;

        assert_ok(cuModuleLoadData(&module, large));
        assert_int_equal(all(), 33554432);
        assert_ok(cuModuleUnload(module));
        assert_int_equal(all(), 0);
}

/* A cubin of 8,381 bytes took 2 MiB; the text of 662 bytes above took nothing. */
static void code_takes_pages_beyond_what_a_context_has_room_for(void **state)
{
        static char text[16384];
        CUmodule module;

        memset(text, ' ', sizeof(text) - 1);
        memcpy(text, PTX, sizeof(PTX) - 1);
        assert_ok(cuModuleLoadData(&module, text));
        assert_int_equal(all(), 2 * MIB);
        assert_ok(cuModuleUnload(module));
        assert_int_equal(all(), 0);
}

static void a_library_takes_nothing_before_its_first_use(void **state)
{
        CUlibrary library;
        CUkernel kernel;
        CUfunction function;

        assert_ok(cuLibraryLoadData(&library,
                                    PTX ".global .b8 table[4194304];\n.visible .entry f() { ret; }",
                                    NULL, NULL, 0, NULL, NULL, 0));
        assert_ok(cuLibraryGetKernel(&kernel, library, "f"));
        assert_int_equal(all(), 0);
        assert_ok(cuKernelGetFunction(&function, kernel));
        assert_int_equal(all(), 4 * MIB);
        assert_ok(cuLibraryUnload(library));
        assert_int_equal(all(), 0);
}

/* 132 multiprocessors of 2048 threads; for good, as the manual of cuCtxSetLimit says of stacks. */
static void a_kernel_with_local_memory_makes_its_context_grow(void **state)
{
        CUmodule module;
        CUfunction function;
        CUcontext own;
        int local;

        assert_ok(cuCtxCreate_v2(&own, 0, 0));
        uint64_t before = all();
        assert_ok(cuModuleLoadData(&module, PTX ".visible .entry f()\n{ .local .align 8 .b8 "
                                                "__local_depot0[2048]; { ret; } }\n"
                                                ".visible .entry g() { ret; }"));
        assert_ok(cuModuleGetFunction(&function, module, "f"));
        assert_ok(cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function));
        assert_int_equal(local, 2048);
        assert_int_equal(all(), before);
        assert_ok(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        assert_int_equal(all() - before, 264 * MIB);
        assert_ok(cuModuleGetFunction(&function, module, "g"));
        assert_int_equal(all() - before, 264 * MIB);
        assert_ok(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        assert_int_equal(all() - before, 264 * MIB);
        assert_ok(cuCtxDestroy_v2(own));
        assert_ok(cuCtxSetCurrent(context));
}

/* Assumed: at the latest when the graph is launched. */
static void a_graph_with_such_a_kernel_does_so_when_it_is_instantiated(void **state)
{
        CUmodule module;
        CUfunction function;
        CUgraphExec exec;
        CUgraph graph;
        CUstream stream;
        CUcontext own;

        assert_ok(cuCtxCreate_v2(&own, 0, 0));
        uint64_t before = all();
        assert_ok(cuModuleLoadData(&module, PTX ".visible .entry f()\n{ .local .align 8 .b8 "
                                                "__local_depot0[2048]; ret; }"));
        assert_ok(cuModuleGetFunction(&function, module, "f"));
        assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        assert_ok(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        assert_ok(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        assert_ok(cuStreamEndCapture(stream, &graph));
        assert_int_equal(all(), before);
        assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
        assert_int_equal(all() - before, 264 * MIB + 2 * MIB);
        assert_ok(cuGraphExecDestroy(exec));
        assert_ok(cuGraphDestroy(graph));
        assert_ok(cuCtxDestroy_v2(own));
        assert_ok(cuCtxSetCurrent(context));
}

static void pools_grow_by_32_mib_and_the_second_growth_leaves_2(void **state)
{
        static const uint64_t bytes[] = { 1, 33 * MIB, 65 * MIB }, taken[] = { 32, 64, 96 };
        CUmemoryPool pool;
        CUcontext own;
        CUdeviceptr at;

        assert_ok(cuCtxCreate_v2(&own, 0, 0));
        assert_ok(cuDeviceGetDefaultMemPool(&pool, 0));
        uint64_t before = all();
        for (unsigned i = 0; i < 3; i++) {
                assert_ok(cuMemAllocAsync(&at, bytes[i], NULL));
                assert_int_equal(all() - before, (taken[i] + (i > 0 ? 2 : 0)) * MIB);
                assert_ok(cuMemFreeAsync(at, NULL));
                assert_ok(cuCtxSynchronize());
        }
        assert_int_equal(all() - before, 2 * MIB);
        assert_ok(cuCtxDestroy_v2(own));
        assert_ok(cuCtxSetCurrent(context));
}

static void the_first_graph_instance_takes_2_mib(void **state)
{
        CUgraphExec one, other;
        CUcontext own;
        CUgraph graph;

        assert_ok(cuCtxCreate_v2(&own, 0, 0));
        uint64_t before = all();
        assert_ok(cuGraphCreate(&graph, 0));
        assert_ok(cuGraphInstantiateWithFlags(&one, graph, 0));
        assert_int_equal(all() - before, 2 * MIB);
        assert_ok(cuGraphInstantiateWithFlags(&other, graph, 0));
        assert_ok(cuGraphExecDestroy(one));
        assert_ok(cuGraphExecDestroy(other));
        assert_int_equal(all() - before, 2 * MIB);
        assert_ok(cuGraphDestroy(graph));
        assert_ok(cuCtxDestroy_v2(own));
        assert_ok(cuCtxSetCurrent(context));
}

/* And take 4 MiB each beside it. */
static void green_contexts_share_the_primary_one(void **state)
{
        CUdevResource whole, half[2], rest;
        unsigned count = 2;
        CUdevResourceDesc parts;
        CUgreenCtx green[2];
        CUcontext inside, primary;
        CUstream stream;

        assert_ok(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
        assert_int_equal(whole.sm.smCount, 132);
        assert_ok(cuDevSmResourceSplitByCount(half, &count, &whole, &rest, 0, 60));
        assert_int_equal(count, 2);
        assert_int_equal(half[1].sm.smCount, 64);
        assert_int_equal(rest.sm.smCount, 4);
        for (unsigned i = 0; i < 2; i++) {
                assert_ok(cuDevResourceGenerateDesc(&parts, &half[i], 1));
                assert_ok(cuGreenCtxCreate(&green[i], parts, 0, CU_GREEN_CTX_DEFAULT_STREAM));
                assert_int_equal(all(), CONTEXT + (i + 1) * 4 * MIB);
        }
        assert_ok(cuDevicePrimaryCtxRetain(&primary, 0));
        assert_ok(cuDevicePrimaryCtxRelease_v2(0));
        assert_ok(cuCtxFromGreenCtx(&inside, green[0]));
        assert_ptr_equal(inside, primary);
        assert_ok(cuGreenCtxStreamCreate(&stream, green[0], CU_STREAM_NON_BLOCKING, 0));
        assert_ok(cuStreamSynchronize(stream));
        assert_ok(cuGreenCtxDestroy(green[0]));
        assert_int_equal(cuGreenCtxDestroy(green[0]), CUDA_ERROR_INVALID_HANDLE);
        assert_int_equal(all(), CONTEXT + 4 * MIB);
        assert_ok(cuGreenCtxDestroy(green[1]));
        assert_int_equal(all(), 0);
}

static void cuda_tells_what_reserved_leaves_of_the_card(void **state)
{
        size_t free_bytes, total;

        assert_ok(cuMemGetInfo_v2(&free_bytes, &total));
        assert_int_equal(total, 150109880320);
        assert_int_equal(total + config_get()->reserved_bytes, 150754820096);
        assert_int_equal(free_bytes, total - CONTEXT);
}

static void a_rule_is_as_old_as_the_driver_and_can_be_set_alone(void **state)
{
        struct sim_config config;
        char why[256];

        assert_int_equal(config_parse("grants=real,driver=12010", &config, why, sizeof(why)), 0);
        assert_false(config.grants.is_lazy);
        assert_int_equal(config_parse("grants=real,driver=12020", &config, why, sizeof(why)), 0);
        assert_true(config.grants.is_lazy);
        assert_int_equal(config_parse("block_step=2MiB", &config, why, sizeof(why)), 0);
        assert_int_equal(config.grants.block_step, 2 * MIB);
        assert_int_equal(config.grants.slab_bytes, 0);
        assert_int_equal(config.grants.array_step, 64 * KIB);
        assert_int_equal(config_parse("grants=real,slab=0", &config, why, sizeof(why)), 0);
        assert_int_equal(config.grants.slab_bytes, 0);
        assert_int_equal(config_parse("grants=true", &config, why, sizeof(why)), -EINVAL);
        assert_string_equal(why, "grants=true: expected real or plain");
}

/* -- fat binaries ------------------------------------------------------------------------------ */

static size_t part_put(unsigned char *to, unsigned kind, unsigned architecture, uint64_t bytes,
                       uint64_t decompressed)
{
        const uint32_t header = 72;
        const uint64_t flags = decompressed ? 0x2000 : 0;

        memset(to, 0, header + bytes);
        memcpy(to, &(uint16_t){ (uint16_t)kind }, 2);
        memcpy(to + 4, &header, 4);
        memcpy(to + 8, &bytes, 8);
        memcpy(to + 28, &(uint32_t){ architecture }, 4);
        memcpy(to + 40, &flags, 8);
        memcpy(to + 56, &decompressed, 8);
        return header + bytes;
}

static void only_the_part_for_the_device_of_a_fat_binary_counts(void **state)
{
        static unsigned char fat[65536];
        struct image image;
        size_t at = 16;

        at += part_put(fat + at, 2, 70, 1000, 0);
        at += part_put(fat + at, 2, 80, 2000, 9000);
        at += part_put(fat + at, 2, 90, 3000, 12000);
        at += part_put(fat + at, 1, 90, 4000, 0);
        memset(fat + at - 4000, 'x', 3900);
        memcpy(fat, &(uint32_t){ 0xba55ed50 }, 4);
        memcpy(fat + 4, &(uint16_t){ 1 }, 2);
        memcpy(fat + 6, &(uint16_t){ 16 }, 2);
        memcpy(fat + 8, &(uint64_t){ at - 16 }, 8);
        image = image_read(fat, at);
        assert_int_equal(image.kind, IMAGE_FATBIN);
        assert_int_equal(image_needs(&image, 90).code_bytes, 12000);
        assert_int_equal(image_needs(&image, 86).code_bytes, 9000);
        assert_int_equal(image_needs(&image, 70).code_bytes, 1000);
        assert_int_equal(image_needs(&image, 100).code_bytes, 3900); /* the text */
        assert_int_equal(image_needs(&image, 60).code_bytes, at);    /* nothing fits: all of it */
        fat[16 + 4] = 0xff; /* a header beyond the end is not followed */
        fat[16 + 7] = 0xff;
        assert_int_equal(image_needs(&image, 90).code_bytes, at);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_context_takes_what_it_takes_and_a_second_one_as_much),
                cmocka_unit_test(small_blocks_share_slabs),
                cmocka_unit_test(larger_blocks_are_whole_pages),
                cmocka_unit_test(pitched_memory_and_arrays_are_whole_pages),
                cmocka_unit_test(managed_memory_counts_while_the_device_has_it),
                cmocka_unit_test(green_contexts_share_the_primary_one),
                cmocka_unit_test(cuda_tells_what_reserved_leaves_of_the_card),
                cmocka_unit_test(a_context_grows_by_its_stacks_at_once_and_by_its_heap_later),
                cmocka_unit_test(a_module_takes_its_variables_when_it_is_loaded),
                cmocka_unit_test(code_takes_pages_beyond_what_a_context_has_room_for),
                cmocka_unit_test(a_library_takes_nothing_before_its_first_use),
                cmocka_unit_test(heap_and_printf_buffer_come_with_the_module_that_needs_them),
                cmocka_unit_test(a_kernel_with_local_memory_makes_its_context_grow),
                cmocka_unit_test(a_graph_with_such_a_kernel_does_so_when_it_is_instantiated),
                cmocka_unit_test(pools_grow_by_32_mib_and_the_second_growth_leaves_2),
                cmocka_unit_test(the_first_graph_instance_takes_2_mib),
                cmocka_unit_test(a_rule_is_as_old_as_the_driver_and_can_be_set_alone),
                cmocka_unit_test(only_the_part_for_the_device_of_a_fat_binary_counts),
        };

        stage_open("model=h200,grants=real,ptx=noop", "grants");
        return cmocka_run_group_tests(tests, make_context, stage_close);
}
