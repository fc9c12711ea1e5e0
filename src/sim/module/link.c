/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linker, without linking: a single input becomes the output.
 *
 * The simulator has no machine code to link. A link with one input returns that image, ready for
 * cuModuleLoadData; with several inputs, its completion returns NOT_SUPPORTED.
 */
#include "common/scoped.h"
#include "sim/context/context.h"
#include "sim/entries.h"
#include "sim/module/module.h"
#include "sim/node/fault.h"

#include <stdlib.h>
#include <string.h>

#define LINK_MAGIC 0x4c696e6bu

struct CUlinkState_st {
        uint32_t magic;
        unsigned inputs;
        void *image; /* a copy of the first input */
        size_t bytes;
};

static CUresult link_check(CUlinkState link)
{
        return link && link->magic == LINK_MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuLinkCreate_v2(CUcontext context, unsigned count, CUjit_option *options,
                             void **values, CUlinkState *ret_link)
{
        CUlinkState link;

        if (!ret_link || (count && (!options || !values)))
                return CUDA_ERROR_INVALID_VALUE;
        link = calloc(1, sizeof(*link));
        if (!link)
                return CUDA_ERROR_OUT_OF_MEMORY;
        link->magic = LINK_MAGIC;
        *ret_link = link;
        return CUDA_SUCCESS;
}

static CUresult add_image(CUlinkState link, const void *bytes, size_t size)
{
        struct image image;
        CUresult rc = link_check(link);

        if (rc == CUDA_SUCCESS)
                rc = image_admit(bytes, size, &image);
        if (rc != CUDA_SUCCESS || link->inputs++)
                return rc;
        link->image = calloc(1, image.size + 1);
        if (!link->image)
                return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(link->image, bytes, image.size);
        link->bytes = image.size;
        return CUDA_SUCCESS;
}

CUresult sim_cuLinkAddData_v2(CUlinkState link, CUjitInputType type, void *bytes, size_t size,
                              const char *name, unsigned int count, CUjit_option *options,
                              void **values)
{
        return add_image(link, bytes, size);
}

CUresult sim_cuLinkAddFile_v2(CUlinkState link, CUjitInputType type, const char *path,
                              unsigned int count, CUjit_option *options, void **values)
{
        scoped_free void *bytes = NULL;
        size_t size;
        CUresult rc = path ? file_read(path, &bytes, &size) : CUDA_ERROR_INVALID_VALUE;

        return rc == CUDA_SUCCESS ? add_image(link, bytes, size) : rc;
}

CUresult sim_cuLinkComplete(CUlinkState link, void **ret_image, size_t *ret_size)
{
        CUresult rc = link_check(link);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_image || !link->inputs)
                return CUDA_ERROR_INVALID_VALUE;
        if (link->inputs > 1) {
                sim_log("linking %u inputs is not modelled", link->inputs);
                return CUDA_ERROR_NOT_SUPPORTED;
        }
        *ret_image = link->image;
        if (ret_size)
                *ret_size = link->bytes;
        return CUDA_SUCCESS;
}

CUresult sim_cuLinkDestroy(CUlinkState link)
{
        CUresult rc = link_check(link);

        if (rc != CUDA_SUCCESS)
                return rc;
        link->magic = 0;
        free(link->image);
        free(link);
        return CUDA_SUCCESS;
}
