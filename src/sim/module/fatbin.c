/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fat binaries, which nvcc puts into programs, and the kernels that run in their place (also in
 * place of PTX kernels).
 *
 * The machine code and PTX in a fat binary are compressed and for real hardware, so they are not
 * read. The kernels come from the ELF module of the setting kernels=; they are found by the
 * requested name, or by the plain function name within a mangled one. A kernel that is not in that
 * module is a no-op with fatbin=noop, and is otherwise not found. Variables are found in that
 * module only.
 */
#include "common/atomic.h"
#include "sim/module/module_internal.h"
#include "sim/node/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct image stand_in; /* of kind IMAGE_BAD until it is read, and if there is none */

static void stand_in_read(void)
{
        const char *path = config_get()->kernels;
        void *bytes;
        size_t size;

        if (!path[0])
                return;
        if (file_read(path, &bytes, &size) == CUDA_SUCCESS) {
                stand_in = image_read(bytes, size);
                if (stand_in.kind == IMAGE_ELF)
                        return;
                free(bytes);
        }
        stand_in = (struct image){ .kind = IMAGE_BAD };
        fprintf(stderr, "aliquot-sim: kernels=%s: not a shared object for the simulator\n", path);
}

struct image fatbin_stand_in(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, stand_in_read);
        return stand_in;
}

static bool kernel_find(const char *name, size_t length, struct image_kernel *ret_kernel)
{
        struct image code = fatbin_stand_in();
        size_t cursor = 0;

        while (image_next_kernel(&code, &cursor, ret_kernel))
                if (strlen(ret_kernel->name) == length && !memcmp(ret_kernel->name, name, length))
                        return true;
        return false;
}

bool stand_in_has(const char *name)
{
        struct image_kernel kernel;

        return fatbin_stand_in().kind == IMAGE_ELF && kernel_find(name, strlen(name), &kernel);
}

CUresult fatbin_admit(void)
{
        static _Atomic int is_said;

        if (config_get()->is_fatbin_noop || fatbin_stand_in().kind == IMAGE_ELF)
                return CUDA_SUCCESS;
        if (!swap_relaxed(&is_said, 1))
                fprintf(stderr, "aliquot-sim: machine code does not run here: name a module with "
                                "its kernels (kernels=FILE), or make them no-ops (fatbin=noop)\n");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/*
 * Finds the plain function name in a name mangled by the Itanium C++ ABI: the last of the
 * length-prefixed names after _Z, or after _ZN in a scope. For a name that is not mangled, it is
 * the whole name.
 */
static size_t plain_name(const char *name, const char **ret)
{
        const char *at = name, *part = name;
        size_t length = strlen(name);
        bool is_nested;

        *ret = name;
        if (strncmp(name, "_Z", 2) != 0)
                return length;
        at += 2;
        is_nested = *at == 'N';
        at += is_nested;
        while (isdigit((unsigned char)*at)) {
                size_t bytes = strtoul(at, (char **)&part, 10);

                if (bytes > strlen(part))
                        break;
                *ret = part;
                length = bytes;
                at = part + bytes;
                if (!is_nested)
                        break;
        }
        return length;
}

CUresult fatbin_kernel(const char *name, struct image_kernel *ret_kernel)
{
        static _Atomic int is_said;
        const char *plain;
        size_t length = plain_name(name, &plain);

        if (kernel_find(name, strlen(name), ret_kernel) || kernel_find(plain, length, ret_kernel))
                return CUDA_SUCCESS;
        memset(ret_kernel, 0, sizeof(*ret_kernel));
        if (config_get()->is_fatbin_noop)
                return CUDA_SUCCESS;
        if (!swap_relaxed(&is_said, 1))
                fprintf(stderr, "aliquot-sim: %s has no kernel %s\n", config_get()->kernels, name);
        return CUDA_ERROR_NOT_FOUND;
}
