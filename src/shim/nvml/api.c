/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the NVML library to the interposer.
 *
 * The real library calls its own exports by name, so it is opened with RTLD_DEEPBIND; otherwise
 * these internal calls would reach our hooks. A sanitizer forbids that flag, so meson.build sets
 * NVML_OPEN_FLAGS.
 */
#include <dlfcn.h>

#include "shim/apis.h"
#include "shim/nvml/hooks.h"
#include "shim/nvml/real.h"

static nvmlReturn_t answer_no_library(void)
{
        return NVML_ERROR_LIBRARY_NOT_FOUND;
}

static nvmlReturn_t answer_no_function(void)
{
        return NVML_ERROR_FUNCTION_NOT_FOUND;
}

static const struct library *_Atomic library;

const struct api nvml_api = {
        .name = "nvml",
        .soname = "libnvidia-ml.so.1",
        .stem = "libnvidia-ml.so",
        .prefix = "nvml",
        .variable = "ALIQUOT_REAL_LIBNVML",
        .open_flags = NVML_OPEN_FLAGS,
        .no_library = (void (*)(void))answer_no_library,
        .no_function = (void (*)(void))answer_no_function,
        .opened = follow_time_of,
        .table = &nvml_table,
        .library = &library,
};
