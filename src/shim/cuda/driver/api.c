/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the CUDA driver library to the interposer.
 *
 * Without a driver, all functions return CUDA_ERROR_STUB_LIBRARY, as those of the toolkit's stub
 * library do. Only a program that links libcuda.so.1 reaches these functions; a program that opens
 * the library gets an error from dlopen.
 */
#include "shim/apis.h"
#include "shim/cuda/driver/real.h"

static CUresult answer_no_library(void)
{
        tell_no_driver();
        return CUDA_ERROR_STUB_LIBRARY;
}

static CUresult answer_no_function(void)
{
        return CUDA_ERROR_NOT_FOUND;
}

static const struct library *_Atomic library;

const struct api cuda_api = {
        .name = "cuda",
        .soname = "libcuda.so.1",
        .stem = "libcuda.so",
        .prefix = "cu",
        .variable = "ALIQUOT_REAL_LIBCUDA",
        .no_library = (void (*)(void))answer_no_library,
        .no_function = (void (*)(void))answer_no_function,
        .opened = follow_time_of,
        .table = &cuda_table,
        .library = &library,
};
