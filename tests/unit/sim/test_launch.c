/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches: whatever the entry point, the kernel runs with its parameters, in order, or the call
 * says why not.
 */
#include "exec_stage.h"

static void built_in_kernels_compute(void **state)
{
        CUdeviceptr a = stage_alloc(4096), b = stage_alloc(4096), c = stage_alloc(4096);
        uint64_t count = 1024, sum = 0;
        void *add[] = { &c, &a, &b, &count };
        void *checksum[] = { &c, &count, &b };

        stage_fill(NULL, a, 40, 1024);
        stage_fill(NULL, b, 2, 1024);
        ok(cuLaunchKernel(stage.add, 4, 1, 1, 256, 1, 1, 0, NULL, add, NULL));
        ok(cuLaunchKernel(stage.checksum, 1, 1, 1, 1, 1, 1, 0, NULL, checksum, NULL));
        ok(cuMemcpyDtoH_v2(&sum, b, sizeof(sum)));
        assert_int_equal(sum, 42 * 1024);
        assert_int_equal(stage_word(c, 1023), 42);
        ok(cuMemFree_v2(a));
        ok(cuMemFree_v2(b));
        ok(cuMemFree_v2(c));
}

static void parameters_may_come_packed(void **state)
{
        struct {
                CUdeviceptr to;
                uint32_t value;
                uint64_t count;
        } packed = { stage_alloc(64), 7, 16 };
        size_t bytes = sizeof(packed), too_few = 4;
        void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                          &bytes, CU_LAUNCH_PARAM_END };
        void *small[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                          &too_few, CU_LAUNCH_PARAM_END };

        ok(cuLaunchKernel(stage.fill, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
        assert_int_equal(stage_word(packed.to, 15), 7);
        assert_int_equal(cuLaunchKernel(stage.fill, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, small),
                         CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuLaunchKernel(stage.fill, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                         CUDA_ERROR_INVALID_VALUE);
        ok(cuMemFree_v2(packed.to));
}

static void every_entry_point_launches(void **state)
{
        CUdeviceptr to = stage_alloc(64);
        uint32_t value = 0;
        uint64_t count = 16;
        void *params[] = { &to, &value, &count };
        CUlaunchConfig config = { .gridDimX = 1,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 1,
                                  .blockDimY = 1,
                                  .blockDimZ = 1 };
        CUDA_LAUNCH_PARAMS multi = { stage.fill, 1, 1, 1, 1, 1, 1, 0, NULL, params };

        value = 1;
        ok(cuLaunchKernel_ptsz(stage.fill, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        ok(cuStreamSynchronize_ptsz(NULL));
        assert_int_equal(stage_word(to, 0), 1);
        value = 2;
        ok(cuLaunchKernelEx(&config, stage.fill, params, NULL));
        assert_int_equal(stage_word(to, 0), 2);
        value = 3;
        ok(cuLaunchCooperativeKernel(stage.fill, 1, 1, 1, 1, 1, 1, 0, NULL, params));
        assert_int_equal(stage_word(to, 0), 3);
        value = 4;
        ok(cuStreamCreate(&multi.hStream, 0));
        ok(cuLaunchCooperativeKernelMultiDevice(&multi, 1, 0));
        ok(cuStreamSynchronize(multi.hStream));
        assert_int_equal(stage_word(to, 0), 4);
        ok(cuStreamDestroy_v2(multi.hStream));
        ok(cuFuncSetBlockShape(stage.fill, 1, 1, 1));
        ok(cuParamSetSize(stage.fill, 24));
        ok(cuParamSetv(stage.fill, 0, &to, sizeof(to)));
        ok(cuParamSeti(stage.fill, 8, 5));
        ok(cuParamSetv(stage.fill, 16, &count, sizeof(count)));
        ok(cuLaunchGrid(stage.fill, 1, 1));
        assert_int_equal(stage_word(to, 15), 5);
        ok(cuMemFree_v2(to));
}

static void impossible_shapes_are_refused(void **state)
{
        uint64_t ns = 0;
        void *params[] = { &ns };

        assert_int_equal(cuLaunchKernel(stage.spin, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                         CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuLaunchKernel(stage.spin, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL),
                         CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuLaunchKernel(stage.spin, 1, 1, 1, 32, 32, 2, 0, NULL, params, NULL),
                         CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuLaunchKernel(stage.spin, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, params, NULL),
                         CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(
                cuLaunchCooperativeKernel(stage.spin, 1 << 20, 1, 1, 1024, 1, 1, 0, NULL, params),
                CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                         CUDA_ERROR_INVALID_HANDLE);
}

static void a_library_serves_any_context(void **state)
{
        CUdeviceptr to = stage_alloc(64);
        uint32_t value = 9;
        uint64_t count = 16;
        void *params[] = { &to, &value, &count };
        CUlibrary library;
        CUkernel kernel;
        CUfunction function;
        const char *name;

        ok(cuLibraryLoadData(&library, "aliquot-sim builtin", NULL, NULL, 0, NULL, NULL, 0));
        ok(cuLibraryGetKernel(&kernel, library, "fill_u32"));
        assert_int_equal(cuLibraryGetKernel(&kernel, library, "no_such"), CUDA_ERROR_NOT_FOUND);
        ok(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        assert_int_equal(stage_word(to, 3), 9);
        ok(cuKernelGetFunction(&function, kernel));
        ok(cuFuncGetName(&name, function));
        assert_string_equal(name, "fill_u32");
        ok(cuLibraryUnload(library));
        assert_int_equal(
                cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                CUDA_ERROR_INVALID_HANDLE);
        ok(cuMemFree_v2(to));
}

static void bad_images_are_named(void **state)
{
        CUmodule module;
        CUfunction function;

        assert_int_equal(cuModuleLoadData(&module, "nonsense"), CUDA_ERROR_INVALID_IMAGE);
        assert_int_equal(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"),
                         CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
        assert_int_equal(cuModuleLoad(&module, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
        assert_int_equal(cuModuleGetFunction(&function, stage.module, "no_such"),
                         CUDA_ERROR_NOT_FOUND);
}

/* An illegal access is sticky: every later call on the context says so. Last, as it ends the stage.
 */
static void an_illegal_access_is_sticky(void **state)
{
        CUcontext context;
        CUdeviceptr bad = 0x1000, good;
        CUmodule module;
        CUfunction fill;
        uint32_t value = 1;
        uint64_t count = 4;
        void *params[] = { &bad, &value, &count };

        ok(cuCtxCreate_v2(&context, 0, 1));
        ok(cuModuleLoadData(&module, "aliquot-sim builtin"));
        ok(cuModuleGetFunction(&fill, module, "fill_u32"));
        ok(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_int_equal(cuMemAlloc_v2(&good, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_int_equal(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                         CUDA_ERROR_ILLEGAL_ADDRESS);
        ok(cuCtxDestroy_v2(context));
        ok(cuCtxSetCurrent(stage.context));
        good = stage_alloc(64);
        ok(cuMemFree_v2(good));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(built_in_kernels_compute),
                cmocka_unit_test(parameters_may_come_packed),
                cmocka_unit_test(every_entry_point_launches),
                cmocka_unit_test(impossible_shapes_are_refused),
                cmocka_unit_test(a_library_serves_any_context),
                cmocka_unit_test(bad_images_are_named),
                cmocka_unit_test(an_illegal_access_is_sticky),
        };

        return cmocka_run_group_tests(tests, stage_open_usual, stage_close);
}
