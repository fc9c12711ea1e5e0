/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges modules and libraries (code and global variables on the card) by an estimate from the
 * size of their image.
 *
 * The driver does not report how much memory a module takes, and may take it later (lazy loading).
 * Before the load, an estimate is charged, so that a load for which there is clearly no room is
 * refused. The estimate is the size of the image, or of the part of a fat binary that the device
 * loads, plus the zero-initialised memory that the image declares. After the load, the memory that
 * NVML reports is charged instead (remainder.h). If NVML does not list this process, the estimate
 * stays until the module is unloaded or its context ends. A library belongs to no context: its
 * estimate is charged once, to the device that is current when the library is loaded.
 *
 * gen-api makes the hooks from the functions here, as cuda.api says: `module` and `library` load
 * code, `code_unload` unloads it, and `code_lookup` finds a function or variable in it, which may
 * be what makes the driver load it.
 */
#ifndef ALIQUOT_SHIM_CUDA_CODE_MODULE_H
#define ALIQUOT_SHIM_CUDA_CODE_MODULE_H

#include "shim/cuda/charge/charged_call.h"

/* What to load: the file `path`, or if that is NULL the image in memory. */
struct code_source {
        const char *path;
        const void *image;
};

static inline struct code_source code_file(const char *path)
{
        return (struct code_source){ .path = path };
}

static inline struct code_source code_image(const void *image)
{
        return (struct code_source){ .image = image };
}

struct charged_call module_begin(struct out ret, struct code_source source);
CUresult module_end(struct charged_call *call);

struct charged_call library_begin(struct out ret, struct code_source source);
CUresult library_end(struct charged_call *call);

struct code_unload {
        struct charge taken;
        uint64_t key;
};

struct code_unload code_unload_begin(const void *handle);
CUresult code_unload_end(struct code_unload *unload, CUresult rc);

/* `ret` is the parameter to which the driver writes what it finds. */
struct out code_lookup_begin(struct out ret);
CUresult code_lookup_end(const struct out *ret, CUresult rc);

#endif
