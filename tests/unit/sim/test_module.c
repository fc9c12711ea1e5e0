/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules that are ELF objects: kernels, parameters, globals, faults; and PTX as a timed no-op.
 */
#include "exec_stage.h"

#include <stdio.h>

static const char *module_path;

static char *read_image(size_t *ret_size)
{
        FILE *file = fopen(module_path, "rb");
        char *image = malloc(1 << 20);

        assert_non_null(file);
        *ret_size = fread(image, 1, 1 << 20, file);
        fclose(file);
        return image;
}

static void a_kernel_gets_its_parameters(void **state)
{
        float host[8] = { 0, 1, 2, 3, 4, 5, 6, 7 }, result[8];
        CUdeviceptr x = stage_alloc(sizeof(host)), y = stage_alloc(sizeof(host));
        uint32_t count = 8;
        float a = 10;
        void *params[] = { &count, &a, &x, &y };
        size_t offset, size;
        CUmodule module;
        CUfunction saxpy;

        ok(cuModuleLoad(&module, module_path));
        ok(cuModuleGetFunction(&saxpy, module, "saxpy"));
        ok(cuFuncGetParamInfo(saxpy, 2, &offset, &size));
        assert_int_equal(offset, 8);
        assert_int_equal(size, 8);
        assert_int_equal(cuFuncGetParamInfo(saxpy, 4, &offset, &size), CUDA_ERROR_INVALID_VALUE);
        ok(cuMemcpyHtoD_v2(x, host, sizeof(host)));
        ok(cuMemcpyHtoD_v2(y, host, sizeof(host)));
        ok(cuLaunchKernel(saxpy, 1, 1, 1, 8, 1, 1, 0, NULL, params, NULL));
        ok(cuMemcpyDtoH_v2(result, y, sizeof(result)));
        for (int i = 0; i < 8; i++)
                assert_true(result[i] == (float)i * 11 + (float)(i % 4 + 1));
        ok(cuModuleUnload(module));
        assert_int_equal(cuLaunchKernel(saxpy, 1, 1, 1, 8, 1, 1, 0, NULL, params, NULL),
                         CUDA_ERROR_INVALID_HANDLE);
        ok(cuMemFree_v2(x));
        ok(cuMemFree_v2(y));
}

static void a_kernel_sees_its_shape(void **state)
{
        CUdeviceptr to = stage_alloc(64);
        uint32_t expected[9] = { 2, 3, 4, 8, 4, 2, 256, 1, 0 }, shape[9];
        void *params[] = { &to };
        CUmodule module;
        CUfunction show;

        ok(cuModuleLoad(&module, module_path));
        ok(cuModuleGetFunction(&show, module, "show_shape"));
        ok(cuLaunchCooperativeKernel(show, 2, 3, 4, 8, 4, 2, 256, NULL, params));
        ok(cuMemcpyDtoH_v2(shape, to, sizeof(shape)));
        assert_memory_equal(shape, expected, sizeof(shape));
        ok(cuModuleUnload(module));
        ok(cuMemFree_v2(to));
}

/* Two loads of one image share nothing: each has its own globals. */
static void globals_belong_to_the_load(void **state)
{
        CUdeviceptr one, two;
        size_t bytes = 0, size;
        CUmodule first, second;
        float value = 100, seen;
        char *image = read_image(&size);

        ok(cuModuleLoadData(&first, image));
        ok(cuModuleLoadData(&second, image));
        free(image);
        ok(cuModuleGetGlobal_v2(&one, &bytes, first, "bias"));
        assert_int_equal(bytes, 16);
        ok(cuModuleGetGlobal_v2(&two, NULL, second, "bias"));
        assert_true(one != two);
        ok(cuMemcpyHtoD_v2(one + 4, &value, 4));
        ok(cuMemcpyDtoH_v2(&seen, one + 4, 4));
        assert_true(seen == 100);
        ok(cuMemcpyDtoH_v2(&seen, two + 4, 4));
        assert_true(seen == 2);
        assert_int_equal(cuMemcpyHtoD_v2(one + 14, &value, 4), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuModuleGetGlobal_v2(&one, &bytes, first, "saxpy"), CUDA_ERROR_NOT_FOUND);
        assert_int_equal(cuModuleGetGlobal_v2(&one, &bytes, first, "none"), CUDA_ERROR_NOT_FOUND);
        ok(cuModuleUnload(first));
        assert_int_not_equal(cuMemcpyDtoH_v2(&seen, one, 4), CUDA_SUCCESS);
        ok(cuModuleUnload(second));
}

/* The image's bytes are device memory until it is unloaded. */
static void an_image_takes_device_memory(void **state)
{
        size_t before, loaded, after, total, size;
        CUmodule module;

        free(read_image(&size));
        ok(cuMemGetInfo_v2(&before, &total));
        ok(cuModuleLoad(&module, module_path));
        ok(cuMemGetInfo_v2(&loaded, &total));
        assert_true(before - loaded >= size / 2);
        ok(cuModuleUnload(module));
        ok(cuMemGetInfo_v2(&after, &total));
        assert_int_equal(before, after);
}

/* A context takes its modules with it; a library loads again in the next one. */
static void modules_end_with_their_context(void **state)
{
        size_t before, after, total;
        CUlibrary library;
        CUcontext context;
        CUfunction function;
        CUdeviceptr bias;
        CUmodule module;
        CUkernel kernel;

        ok(cuMemGetInfo_v2(&before, &total));
        ok(cuLibraryLoadFromFile(&library, module_path, NULL, NULL, 0, NULL, NULL, 0));
        ok(cuLibraryGetKernel(&kernel, library, "saxpy"));
        ok(cuCtxCreate_v2(&context, 0, 0));
        ok(cuModuleLoad(&module, module_path));
        ok(cuModuleGetGlobal_v2(&bias, NULL, module, "bias"));
        ok(cuKernelGetFunction(&function, kernel));
        ok(cuCtxDestroy_v2(context));
        ok(cuCtxSetCurrent(stage.context));
        assert_int_not_equal(cuModuleUnload(module), CUDA_SUCCESS);
        assert_int_not_equal(cuMemsetD8_v2(bias, 0, 4), CUDA_SUCCESS);
        ok(cuKernelGetFunction(&function, kernel));
        ok(cuLibraryUnload(library));
        ok(cuMemGetInfo_v2(&after, &total));
        assert_int_equal(before, after);
}

static void device_time_is_what_the_kernel_spends(void **state)
{
        uint32_t pieces = 100;
        uint64_t ns = 20000;
        void *params[] = { &pieces, &ns };
        CUevent start, end;
        CUmodule module;
        CUfunction spend;
        float ms;

        ok(cuModuleLoad(&module, module_path));
        ok(cuModuleGetFunction(&spend, module, "spend_pieces"));
        ok(cuEventCreate(&start, 0));
        ok(cuEventCreate(&end, 0));
        ok(cuEventRecord(start, NULL));
        ok(cuLaunchKernel(spend, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        ok(cuEventRecord(end, NULL));
        ok(cuEventSynchronize(end));
        ok(cuEventElapsedTime(&ms, start, end));
        assert_true(ms >= 2.0f);
        ok(cuEventDestroy_v2(start));
        ok(cuEventDestroy_v2(end));
        ok(cuModuleUnload(module));
}

static void ptx_is_a_timed_no_op_when_asked(void **state)
{
        static const char ptx[] = "//\n.version 8.0\n.target sm_90\n.address_size 64\n"
                                  ".visible .entry scale(\n\t.param .u64 scale_0,\n"
                                  "\t.param .f32 scale_1,\n\t.param .align 4 .b8 scale_2[12]\n)\n"
                                  "{\n\tret;\n}\n.visible .entry empty() { ret; }\n";
        CUdeviceptr to = stage_alloc(64);
        float factor = 2;
        char box[12] = { 0 };
        void *params[] = { &to, &factor, box };
        size_t offset, size;
        unsigned count = 0;
        CUmodule module;
        CUfunction scale;

        ok(cuModuleLoadData(&module, ptx));
        ok(cuModuleGetFunctionCount(&count, module));
        assert_int_equal(count, 2);
        ok(cuModuleGetFunction(&scale, module, "scale"));
        ok(cuFuncGetParamInfo(scale, 2, &offset, &size));
        assert_int_equal(size, 12);
        ok(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        ok(cuModuleGetFunction(&scale, module, "empty"));
        ok(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        ok(cuCtxSynchronize());
        ok(cuModuleUnload(module));
        ok(cuMemFree_v2(to));
}

static void ptx_has_the_kernels_of_the_module_that_stands_for_it(void **state)
{
        static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                  ".visible .entry show_shape(.param .u64 to) { ret; }\n"
                                  ".visible .entry write(.param .u64 to) { ret; }\n";
        CUdeviceptr to = stage_alloc(64);
        void *params[] = { &to };
        uint32_t shape[9];
        CUmodule module;
        CUfunction function;

        ok(cuModuleLoadData(&module, ptx));
        ok(cuModuleGetFunction(&function, module, "show_shape"));
        ok(cuLaunchKernel(function, 2, 3, 4, 8, 4, 2, 0, NULL, params, NULL));
        ok(cuMemcpyDtoH_v2(shape, to, sizeof(shape)));
        assert_int_equal(shape[2], 4);
        ok(cuModuleGetFunction(&function, module, "write")); /* libc's is no kernel */
        ok(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        ok(cuCtxSynchronize());
        ok(cuModuleUnload(module));
        ok(cuMemFree_v2(to));
}

/* A fat binary as nvcc makes them: a header, a body that nobody here can read, and a wrapper. */
static void a_fat_binary_has_the_kernels_of_the_module_that_stands_for_it(void **state)
{
        static const struct {
                uint32_t magic;
                uint16_t version, header_bytes;
                uint64_t body_bytes;
                char body[4096];
        } fatbin = { 0xba55ed50, 1, 16, 4096, "" };
        const struct {
                uint32_t magic, version;
                const void *fatbin, *rest;
        } wrapper = { 0x466243b1, 1, &fatbin, NULL };
        CUmodule module;
        CUlibrary library;
        CUfunction function;
        CUfunction shape;
        CUkernel mangled, again, other;
        CUdeviceptr address;
        size_t bytes;

        ok(cuModuleLoadData(&module, &wrapper));
        ok(cuModuleGetFunction(&function, module, "show_shape"));
        shape = function;
        assert_int_equal(cuModuleGetFunction(&function, module, "absent"), CUDA_ERROR_NOT_FOUND);
        assert_ptr_equal(function, shape); /* what is not found changes nothing */
        ok(cuModuleGetGlobal_v2(&address, &bytes, module, "bias"));
        assert_int_equal(bytes, 16);
        ok(cuModuleUnload(module));

        ok(cuLibraryLoadData(&library, &fatbin, NULL, NULL, 0, NULL, NULL, 0));
        ok(cuLibraryGetKernel(&mangled, library, "_Z5saxpyjfPKfPf"));
        ok(cuLibraryGetKernel(&again, library, "_Z5saxpyjfPKfPf"));
        assert_ptr_equal(mangled, again);
        ok(cuLibraryGetKernel(&other, library, "_ZN4math4tile10show_shapeEPj"));
        ok(cuKernelGetFunction(&function, mangled));
        ok(cuKernelGetParamInfo(mangled, 3, &bytes, NULL));
        assert_int_equal(bytes, 16);
        ok(cuLibraryUnload(library));
}

static void a_truncated_image_is_refused(void **state)
{
        char path[] = "/tmp/aliquot-sim-image-XXXXXX";
        FILE *file = fdopen(mkstemp(path), "wb");
        size_t size;
        char *image = read_image(&size);
        CUmodule module;

        fwrite(image, 1, size / 2, file);
        fclose(file);
        assert_int_equal(cuModuleLoad(&module, path), CUDA_ERROR_INVALID_IMAGE);
        remove(path);
        free(image);
}

static void a_link_of_one_input_is_that_input(void **state)
{
        CUlinkState link;
        CUmodule module;
        void *image;
        size_t size;

        ok(cuLinkCreate_v2(0, NULL, NULL, &link));
        ok(cuLinkAddFile_v2(link, CU_JIT_INPUT_CUBIN, module_path, 0, NULL, NULL));
        ok(cuLinkComplete(link, &image, &size));
        ok(cuModuleLoadData(&module, image));
        ok(cuLinkDestroy(link));
        ok(cuModuleUnload(module));
}

static void a_failing_kernel_fails_the_context(void **state)
{
        CUcontext context;
        CUmodule module;
        CUfunction fail;

        ok(cuCtxCreate_v2(&context, 0, 1));
        ok(cuModuleLoad(&module, module_path));
        ok(cuModuleGetFunction(&fail, module, "fail_assert"));
        ok(cuLaunchKernel(fail, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        assert_int_equal(cuStreamSynchronize(NULL), CUDA_ERROR_ASSERT);
        assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_ASSERT);
        ok(cuCtxDestroy_v2(context));
        ok(cuCtxSetCurrent(stage.context));
        ok(cuCtxSynchronize());
}

static int open_all(void **state)
{
        char settings[512];

        snprintf(settings, sizeof(settings), ",ptx=noop,kernels=%s", module_path);
        stage_open(settings);
        return 0;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_kernel_gets_its_parameters),
                cmocka_unit_test(a_kernel_sees_its_shape),
                cmocka_unit_test(globals_belong_to_the_load),
                cmocka_unit_test(an_image_takes_device_memory),
                cmocka_unit_test(modules_end_with_their_context),
                cmocka_unit_test(device_time_is_what_the_kernel_spends),
                cmocka_unit_test(ptx_is_a_timed_no_op_when_asked),
                cmocka_unit_test(ptx_has_the_kernels_of_the_module_that_stands_for_it),
                cmocka_unit_test(a_fat_binary_has_the_kernels_of_the_module_that_stands_for_it),
                cmocka_unit_test(a_truncated_image_is_refused),
                cmocka_unit_test(a_link_of_one_input_is_that_input),
                cmocka_unit_test(a_failing_kernel_fails_the_context),
        };

        if (argc < 2)
                return 2;
        module_path = argv[1];
        return cmocka_run_group_tests(tests, open_all, stage_close);
}
