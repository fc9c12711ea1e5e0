/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a copy goes: whether it stays within a device, and so is work of its processors.
 *
 * An end is where its call says that it is: on the host, or on a device, in an array too, of which
 * it is taken that it is the stream's. Of a *unified* address, which says nothing, the driver is
 * asked, and tells which device. An address that it does not know is the host's. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_COPY_ENDS_H
#define ALIQUOT_SHIM_CUDA_COPY_ENDS_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/cuda.h"

struct copy_end {
        CUmemorytype type;
        CUdeviceptr address; /* means something if the type says so */
};

static inline struct copy_end copy_unified(CUdeviceptr address)
{
        return (struct copy_end){ CU_MEMORYTYPE_UNIFIED, address };
}

/* Of whatever form of a box, by the name of its fields: src, dst. */
#define copy_end_of(box, side) \
        ((struct copy_end){ (box)->side##MemoryType, (CUdeviceptr)(box)->side##Device })

/* Both ends are on one device. */
bool copy_is_within(struct copy_end to, struct copy_end from);

/* Of the copies of a batch, one is. */
bool copy_any_is_within(const CUdeviceptr *to, const CUdeviceptr *from, size_t count);
bool copy_any_box_is_within(const CUDA_MEMCPY3D_BATCH_OP *list, size_t count);

/* Both contexts are of one device. */
bool copy_is_of_one_device(CUcontext to, CUcontext from);

#endif
