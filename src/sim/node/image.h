/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what a module image is and which kernels it has. Pure reading of bytes: nothing is loaded.
 *
 * The driver gets a bare pointer without a length, so the length is derived from the bytes: for an
 * ELF file the end of its section headers, for a text its terminating zero, for a fat binary its
 * header. A length that the caller knows (of a file) is the bound; otherwise the headers are
 * trusted, because the real driver has no more either. A malformed image is IMAGE_BAD, never a
 * crash within its bound.
 */
#ifndef ALIQUOT_SIM_NODE_IMAGE_H
#define ALIQUOT_SIM_NODE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_MAX_PARAMS 64
#define IMAGE_NAME_MAX 256

enum image_kind {
        IMAGE_BAD,
        IMAGE_BUILTIN, /* text "aliquot-sim builtin" */
        IMAGE_PTX,
        IMAGE_ELF,     /* a shared object for the simulator */
        IMAGE_FATBIN,  /* as nvcc puts it in a program; `bytes` is behind its wrapper */
        IMAGE_FOREIGN, /* machine code for real hardware */
};

struct image {
        enum image_kind kind;
        const void *bytes; /* borrowed */
        size_t size;
};

struct image_kernel {
        char name[IMAGE_NAME_MAX];
        unsigned param_count;
        uint32_t param_sizes[IMAGE_MAX_PARAMS];
        uint64_t local_bytes; /* of each thread; PTX only */
};

/* Memory that loading takes by the rule `loadable` (image_needs.c). */
struct image_needs {
        uint64_t code_bytes;
        uint64_t variable_bytes; /* of which some begin as zeros, and are not in the image */
        bool has_malloc, has_printf;
};

/* `architecture`: ten times the compute capability's major number, plus the minor one. */
struct image_needs image_needs(const struct image *image, unsigned architecture);

/* Memory on the device once loaded: the image and its zero-initialised memory. */
uint64_t image_loaded_bytes(const struct image *image);

/* `size` 0 means unknown. */
struct image image_read(const void *bytes, size_t size);

/* The kernel at `*cursor` (begin with 0), then moves the cursor. False: no more, or malformed. */
bool image_next_kernel(const struct image *image, size_t *cursor, struct image_kernel *ret_kernel);

#endif
