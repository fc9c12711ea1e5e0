/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/families.h"

bool pool_allows(CUmemoryPool pool, CUdevice device, unsigned access)
{
        return true;
}

CUresult pool_free(CUdeviceptr address)
{
        return CUDA_ERROR_INVALID_VALUE;
}
