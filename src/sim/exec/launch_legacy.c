/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch calls from before CUDA 4, where block shape, shared bytes and parameters are set on the
 * function.
 */
#include "sim/entries.h"
#include "sim/exec/launch.h"

#include <stdlib.h>
#include <string.h>

static CUresult legacy_of(CUfunction handle, CUfunction *ret_function)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!function->legacy) {
                function->legacy = calloc(1, sizeof(*function->legacy));
                if (!function->legacy)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                for (int i = 0; i < 3; i++)
                        function->legacy->block[i] = 1;
                function->legacy->param_bytes = function->param_bytes;
        }
        *ret_function = function;
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetBlockShape(CUfunction handle, int x, int y, int z)
{
        CUfunction function;
        CUresult rc = legacy_of(handle, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (x <= 0 || y <= 0 || z <= 0)
                return CUDA_ERROR_INVALID_VALUE;
        function->legacy->block[0] = (uint32_t)x;
        function->legacy->block[1] = (uint32_t)y;
        function->legacy->block[2] = (uint32_t)z;
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetSharedSize(CUfunction handle, unsigned int bytes)
{
        CUfunction function;
        CUresult rc = legacy_of(handle, &function);

        if (rc == CUDA_SUCCESS)
                function->legacy->shared_bytes = bytes;
        return rc;
}

CUresult sim_cuParamSetSize(CUfunction handle, unsigned int bytes)
{
        CUfunction function;
        CUresult rc = legacy_of(handle, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (bytes > OP_PARAM_BYTES)
                return CUDA_ERROR_INVALID_VALUE;
        function->legacy->param_bytes = bytes;
        return CUDA_SUCCESS;
}

static CUresult set_bytes(CUfunction handle, int offset, const void *value, size_t bytes)
{
        CUfunction function;
        CUresult rc = legacy_of(handle, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!value || offset < 0 || bytes > OP_PARAM_BYTES ||
            (size_t)offset > OP_PARAM_BYTES - bytes)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(function->legacy->params + offset, value, bytes);
        return CUDA_SUCCESS;
}

CUresult sim_cuParamSeti(CUfunction function, int offset, unsigned int value)
{
        return set_bytes(function, offset, &value, sizeof(value));
}

CUresult sim_cuParamSetf(CUfunction function, int offset, float value)
{
        return set_bytes(function, offset, &value, sizeof(value));
}

CUresult sim_cuParamSetv(CUfunction function, int offset, void *value, unsigned int bytes)
{
        return set_bytes(function, offset, value, bytes);
}

CUresult sim_cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream)
{
        struct legacy_launch *legacy;
        CUfunction function;
        CUresult rc = legacy_of(handle, &function);
        size_t bytes;

        if (rc != CUDA_SUCCESS)
                return rc;
        if (width <= 0 || height <= 0)
                return CUDA_ERROR_INVALID_VALUE;
        legacy = function->legacy;
        bytes = legacy->param_bytes;
        void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, legacy->params,
                          CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
        return cuLaunchKernel(function, (unsigned)width, (unsigned)height, 1, legacy->block[0],
                              legacy->block[1], legacy->block[2], legacy->shared_bytes, stream,
                              NULL, extra);
}
