/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates a program's copy into an op_copy, and queues it in a stream.
 *
 * Every copy is first described as a 3D box (CUDA_MEMCPY3D), whatever its entry point; a graph node
 * shows it so too. A copy with pageable host memory completes before the call returns, as the
 * driver's staging makes it appear; so does a synchronous copy with host memory on one side. All
 * others are queued.
 */
#ifndef ALIQUOT_SIM_EXEC_COPY_H
#define ALIQUOT_SIM_EXEC_COPY_H

#include "abi/cuda.h"
#include "sim/exec/op.h"

struct copy_request {
        CUDA_MEMCPY3D box;
        CUcontext from_context, to_context; /* NULL: the stream's */
        bool is_async;
};

/* The copy that a box means; does not look at device memory. */
CUresult copy_plan(const struct copy_request *request, CUcontext context, struct op_copy *ret_copy);

CUresult copy_issue(bool is_per_thread, CUstream stream, const struct copy_request *request);

struct copy_linear {
        CUdeviceptr to;
        CUmemorytype to_type;
        CUdeviceptr from;
        CUmemorytype from_type;
        size_t bytes;
};

/* Boxes of other forms. */
CUDA_MEMCPY3D copy_box_2d(const CUDA_MEMCPY2D *from);
CUDA_MEMCPY3D copy_box_linear(struct copy_linear copy);

#endif
