/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kind of a module image and its list of kernels. It only reads bytes; nothing is loaded.
 *
 * The driver gets a pointer without a length, so the length is derived from the bytes: for an ELF
 * file the end of its section headers, for a text its terminating zero, for a fat binary its
 * header. If the caller knows the length (of a file), nothing beyond it is read. Otherwise the
 * headers are trusted, as the real driver must trust them too. A malformed image gives IMAGE_BAD,
 * and never a crash if its length is known.
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
        IMAGE_BUILTIN, /* the text "aliquot-sim builtin" */
        IMAGE_PTX,
        IMAGE_ELF,     /* a shared object with kernels for the simulator */
        IMAGE_FATBIN,  /* as nvcc stores it in a program; `bytes` is what its wrapper points to */
        IMAGE_FOREIGN, /* machine code for real hardware */
};

struct image {
        enum image_kind kind;
        const void *bytes; /* borrowed from the caller */
        size_t size;
};

struct image_kernel {
        char name[IMAGE_NAME_MAX];
        unsigned param_count;
        uint32_t param_sizes[IMAGE_MAX_PARAMS];
        uint64_t local_bytes; /* local memory of each thread; for PTX only */
};

/* Memory that loading an image takes with the rule `loadable` (image_needs.c). */
struct image_needs {
        uint64_t code_bytes;
        /* includes variables initialised with zeros, which are not in the image */
        uint64_t variable_bytes;
        bool has_malloc, has_printf;
};

/* Returns what an image needs on a device. `architecture` is the compute capability: 10 * major +
 * minor. */
struct image_needs image_needs(const struct image *image, unsigned architecture);

/* Returns the device memory of a loaded image: the image and its zero-initialised variables. */
uint64_t image_loaded_bytes(const struct image *image);

/* Determines the kind of the image at `bytes`. `size` 0 means that the length is unknown. */
struct image image_read(const void *bytes, size_t size);

/* Returns the kernel at `*cursor`, which is 0 at first, and moves the cursor to the next one.
 * False: no more kernels, or a malformed image. */
bool image_next_kernel(const struct image *image, size_t *cursor, struct image_kernel *ret_kernel);

#endif
