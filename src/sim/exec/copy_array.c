/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of consecutive bytes into or out of a one-dimensional array.
 */
#include "sim/entries.h"
#include "sim/exec/copy.h"

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE

/* One side of the copy: an array with an offset, or (array NULL) an address. */
struct copy_side {
        CUarray array;
        size_t offset;
        CUdeviceptr address;
        CUmemorytype type;
};

struct copy_run {
        struct copy_side to, from;
        size_t bytes;
};

static CUresult issue(bool is_per_thread, CUstream stream, bool is_async,
                      const struct copy_run *run)
{
        const struct copy_side *to = &run->to, *from = &run->from;
        struct copy_request request = { .is_async = is_async };
        CUDA_MEMCPY3D *box = &request.box;

        *box = copy_box_linear((struct copy_linear){ to->address, to->type, from->address,
                                                     from->type, run->bytes });
        if (to->array) {
                box->dstMemoryType = CU_MEMORYTYPE_ARRAY;
                box->dstArray = to->array;
                box->dstXInBytes = to->offset;
        }
        if (from->array) {
                box->srcMemoryType = CU_MEMORYTYPE_ARRAY;
                box->srcArray = from->array;
                box->srcXInBytes = from->offset;
        }
        return copy_issue(is_per_thread, stream, &request);
}

static struct copy_side at_array(CUarray array, size_t offset)
{
        return (struct copy_side){ array, offset, 0, CU_MEMORYTYPE_ARRAY };
}

CUresult sim_cuMemcpyDtoA_v2(bool is_per_thread, CUarray to, size_t offset, CUdeviceptr from,
                             size_t bytes)
{
        struct copy_run run = { at_array(to, offset), { NULL, 0, from, DEVICE }, bytes };

        return issue(is_per_thread, NULL, false, &run);
}

CUresult sim_cuMemcpyAtoD_v2(bool is_per_thread, CUdeviceptr to, CUarray from, size_t offset,
                             size_t bytes)
{
        struct copy_run run = { { NULL, 0, to, DEVICE }, at_array(from, offset), bytes };

        return issue(is_per_thread, NULL, false, &run);
}

CUresult sim_cuMemcpyHtoAAsync_v2(bool is_per_thread, CUarray to, size_t offset, const void *from,
                                  size_t bytes, CUstream stream)
{
        struct copy_run run = { at_array(to, offset), { NULL, 0, (CUdeviceptr)from, HOST }, bytes };

        return issue(is_per_thread, stream, true, &run);
}

CUresult sim_cuMemcpyAtoHAsync_v2(bool is_per_thread, void *to, CUarray from, size_t offset,
                                  size_t bytes, CUstream stream)
{
        struct copy_run run = { { NULL, 0, (CUdeviceptr)to, HOST }, at_array(from, offset), bytes };

        return issue(is_per_thread, stream, true, &run);
}

CUresult sim_cuMemcpyHtoA_v2(bool is_per_thread, CUarray to, size_t offset, const void *from,
                             size_t bytes)
{
        struct copy_run run = { at_array(to, offset), { NULL, 0, (CUdeviceptr)from, HOST }, bytes };

        return issue(is_per_thread, NULL, false, &run);
}

CUresult sim_cuMemcpyAtoH_v2(bool is_per_thread, void *to, CUarray from, size_t offset,
                             size_t bytes)
{
        struct copy_run run = { { NULL, 0, (CUdeviceptr)to, HOST }, at_array(from, offset), bytes };

        return issue(is_per_thread, NULL, false, &run);
}

CUresult sim_cuMemcpyAtoA_v2(bool is_per_thread, CUarray to, size_t to_offset, CUarray from,
                             size_t from_offset, size_t bytes)
{
        struct copy_run run = { at_array(to, to_offset), at_array(from, from_offset), bytes };

        return issue(is_per_thread, NULL, false, &run);
}
