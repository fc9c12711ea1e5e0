/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and libraries: code and globals on the card, estimated by the size of their image.
 *
 * The driver does not tell what a module takes, and may take it later (lazy loading). The size of
 * the image, or of the part of a fat binary that the device loads, and the zeroed memory that it
 * names, is charged before it is loaded, so that what plainly has no room is refused. Once it is
 * loaded, what NVML shows is charged in its place (remainder.h). Where NVML does not list this
 * process the estimate stays until the module is unloaded or its context goes. A library belongs to
 * no context: its estimate is charged once, to the device that is current when it is loaded.
 *
 * cuda.api makes the hooks of the functions here: `module` and `library` load, `code_unload`
 * unloads, `code_lookup` finds something in what is loaded, which may load it at last.
 */
#ifndef ALIQUOT_SHIM_CUDA_CODE_MODULE_H
#define ALIQUOT_SHIM_CUDA_CODE_MODULE_H

#include "shim/cuda/charge/charged_call.h"

/* Where code is loaded from: a file, or else an image in memory. */
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

/* `ret`: what is found, or a handle of it. */
struct out code_lookup_begin(struct out ret);
CUresult code_lookup_end(const struct out *ret, CUresult rc);

#endif
