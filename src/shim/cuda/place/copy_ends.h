/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a copy goes: whether it stays within a device, and so is work of its processors.
 *
 * An end in an array is taken to be on the stream's device. What else a call says of an end may not
 * be so: of what it says is the host's, and of a *unified* address, the driver is asked, and tells
 * which device it is on. An address that it does not know is the host's. Of what it says is a
 * device's, it is asked which only where this process sees several. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_PLACE_COPY_ENDS_H
#define ALIQUOT_SHIM_CUDA_PLACE_COPY_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"

struct copy_end {
        CUmemorytype type;
        CUdeviceptr address; /* valid if the type says so */
};

static inline struct copy_end copy_unified(CUdeviceptr address)
{
        return (struct copy_end){ CU_MEMORYTYPE_UNIFIED, address };
}

static inline struct copy_end copy_on_device(CUdeviceptr address)
{
        return (struct copy_end){ CU_MEMORYTYPE_DEVICE, address };
}

static inline struct copy_end copy_on_host(const void *address)
{
        return (struct copy_end){ CU_MEMORYTYPE_HOST, (CUdeviceptr)(uintptr_t)address };
}

static inline struct copy_end copy_in_array(void)
{
        return (struct copy_end){ .type = CU_MEMORYTYPE_ARRAY };
}

static inline struct copy_end copy_end(CUmemorytype type, const void *host, CUdeviceptr device)
{
        return type == CU_MEMORYTYPE_HOST ? copy_on_host(host) : (struct copy_end){ type, device };
}

/* The ends of any kind of box, by the names of its fields: src, dst. */
#define copy_end_of(box, side)                                             \
        ({                                                                 \
                __typeof__(box) copy_box = (box);                          \
                copy_end(copy_box->side##MemoryType, copy_box->side##Host, \
                         (CUdeviceptr)copy_box->side##Device);             \
        })

/* Both ends are on one device. */
bool copy_is_within(struct copy_end to, struct copy_end from);

/* Of the copies of a batch, one is. */
bool copy_any_is_within(const CUdeviceptr *to, const CUdeviceptr *from, size_t count);
bool copy_any_box_is_within(const CUDA_MEMCPY3D_BATCH_OP *list, size_t count);

/* Both contexts are of one device. */
bool copy_is_of_one_device(CUcontext to, CUcontext from);

/* A box that names the contexts of its ends: of an array's there is none to look at. */
bool copy_peer_is_within(const CUDA_MEMCPY3D_PEER *box);

#endif
