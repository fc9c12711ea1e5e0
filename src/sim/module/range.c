/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address ranges of modules' globals. A global is in the loaded object, which is ordinary host
 * memory. Its range is added to the address table without storage, and is not counted a second
 * time.
 */
#include "sim/context/context.h"
#include "sim/memory/ranges.h"
#include "sim/module/module_internal.h"

#include <stdlib.h>

CUresult module_range_add(CUcontext context, CUdeviceptr address, uint64_t bytes)
{
        struct range *range = calloc(1, sizeof(*range));
        bool is_in;

        if (!range)
                return CUDA_ERROR_OUT_OF_MEMORY;
        range->start = address;
        range->end = address + bytes;
        range->kind = MEMORY_MODULE;
        range->device = context->device;
        range->context = context;
        pthread_mutex_lock(&ranges_lock);
        is_in = range_insert(&outer_ranges, range);
        pthread_mutex_unlock(&ranges_lock);
        if (is_in)
                return CUDA_SUCCESS;
        free(range);
        return CUDA_ERROR_INVALID_VALUE;
}

void module_range_remove(CUdeviceptr address)
{
        struct range *range;

        pthread_mutex_lock(&ranges_lock);
        range = range_find(&outer_ranges, address);
        if (range && range->start == address && range->kind == MEMORY_MODULE)
                range_remove(&outer_ranges, range);
        else
                range = NULL;
        pthread_mutex_unlock(&ranges_lock);
        free(range);
}
