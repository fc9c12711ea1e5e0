/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates a program's copy into an op_copy, and queues it in a stream.
 *
 * Every copy is first described as a 3D box (CUDA_MEMCPY3D), whichever function the program called;
 * graph nodes report their copies in this form too. A copy with pageable host memory completes
 * before the call returns, because the real driver's staging buffer gives the same effect. A
 * synchronous copy with host memory on one side also completes before the call returns. All other
 * copies are only queued.
 */
#ifndef ALIQUOT_SIM_EXEC_COPY_H
#define ALIQUOT_SIM_EXEC_COPY_H

#include "abi/cuda.h"
#include "sim/exec/op.h"

struct copy_request {
        CUDA_MEMCPY3D box;
        /* contexts of the two sides; NULL: the stream's context */
        CUcontext from_context, to_context;
        bool is_async;
};

/* Translates the box of `request` into an op_copy, without checking that the device memory
 * exists. */
CUresult copy_plan(const struct copy_request *request, CUcontext context, struct op_copy *ret_copy);

CUresult copy_issue(bool is_per_thread, CUstream stream, const struct copy_request *request);

struct copy_linear {
        CUdeviceptr to;
        CUmemorytype to_type;
        CUdeviceptr from;
        CUmemorytype from_type;
        size_t bytes;
};

/* Describe a 2D or a linear copy as a 3D box. */
CUDA_MEMCPY3D copy_box_2d(const CUDA_MEMCPY2D *from);
CUDA_MEMCPY3D copy_box_linear(struct copy_linear copy);

#endif
