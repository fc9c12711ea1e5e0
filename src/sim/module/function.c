/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls on functions: attributes, parameters and state.
 */
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/module/module.h"

#include <stdlib.h>

static const struct model_spec *model(void)
{
        return model_spec((enum sim_model)node_get()->model);
}

static CUresult attribute_get(CUfunction function, CUfunction_attribute attribute, int *ret)
{
        int version = model()->capability_major * 10 + model()->capability_minor;

        switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
                *ret = 1024;
                break;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
                *ret = 32;
                break;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
                *ret = version;
                break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
                *ret = function->max_dynamic_shared_bytes;
                break;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                *ret = function->carveout;
                break;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
                *ret = function->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
                break;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
                *ret = function->is_nonportable_cluster_allowed;
                break;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
                *ret = function->cluster_policy;
                break;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
                *ret = 0;
                break;
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
                *ret = (int)function->local_bytes;
                break;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
}

static CUresult attribute_set(CUfunction function, CUfunction_attribute attribute, int value)
{
        switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
                if (value < 0 || value > model()->shared_block_optin_bytes)
                        return CUDA_ERROR_INVALID_VALUE;
                function->max_dynamic_shared_bytes = value;
                break;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                if (value < -1 || value > 100)
                        return CUDA_ERROR_INVALID_VALUE;
                function->carveout = value;
                break;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
                if (value < 0)
                        return CUDA_ERROR_INVALID_VALUE;
                function->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
                break;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
                function->is_nonportable_cluster_allowed = value != 0;
                break;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
                function->cluster_policy = value;
                break;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncGetAttribute(int *ret, CUfunction_attribute attribute, CUfunction handle)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        return ret ? attribute_get(function, attribute, ret) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        return rc == CUDA_SUCCESS ? attribute_set(function, attribute, value) : rc;
}

CUresult sim_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        if (rc == CUDA_SUCCESS)
                function->cache_config = config;
        return rc;
}

CUresult sim_cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
        CUfunction function;

        (void)config;
        return function_of(handle, NULL, &function);
}

CUresult sim_cuFuncGetModule(CUmodule *ret_module, CUfunction handle)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_module)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_module = function->module;
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncGetName(const char **ret_name, CUfunction handle)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_name)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_name = function->name;
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *ret_offset,
                                size_t *ret_size)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_offset || index >= function->param_count)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_offset = function->param_offset[index];
        if (ret_size)
                *ret_size = function->param_size[index];
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *ret_state, CUfunction handle)
{
        CUfunction function;
        CUresult rc = function_of(handle, NULL, &function);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_state)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_state = CU_FUNCTION_LOADING_STATE_LOADED;
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncLoad(CUfunction handle)
{
        CUfunction function;

        return function_of(handle, NULL, &function);
}
