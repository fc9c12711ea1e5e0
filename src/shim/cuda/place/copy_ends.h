/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether a copy stays within one device, and so is work for the device's processors.
 *
 * Each end of a copy (source and destination) is an address or an array. An array is assumed to be
 * on the stream's device. The memory type that a call gives for an address may be wrong. So if the
 * type is host or *unified*, the driver is asked which device the address is on; an address that
 * the driver does not know is on the host. If the type is device, the driver is asked only if this
 * process sees several devices. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_PLACE_COPY_ENDS_H
#define ALIQUOT_SHIM_CUDA_PLACE_COPY_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"

struct copy_end {
        CUmemorytype type;
        CUdeviceptr address; /* valid for host, device and unified memory */
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

/* Returns an end of a copy descriptor (a CUDA_MEMCPY2D, CUDA_MEMCPY3D or the like). `side` is the
 * prefix of the descriptor's fields: src or dst. */
#define copy_end_of(box, side)                                             \
        ({                                                                 \
                __typeof__(box) copy_box = (box);                          \
                copy_end(copy_box->side##MemoryType, copy_box->side##Host, \
                         (CUdeviceptr)copy_box->side##Device);             \
        })

/* Whether both ends are on one device. */
bool copy_is_within(struct copy_end to, struct copy_end from);

/* Whether any copy of a batch stays within one device. */
bool copy_any_is_within(const CUdeviceptr *to, const CUdeviceptr *from, size_t count);
bool copy_any_box_is_within(const CUDA_MEMCPY3D_BATCH_OP *list, size_t count);

/* Whether both contexts belong to one device. */
bool copy_is_of_one_device(CUcontext to, CUcontext from);

/* Whether a copy whose descriptor names the contexts of its ends stays within one device. The
 * context of an array is ignored. */
bool copy_peer_is_within(const CUDA_MEMCPY3D_PEER *box);

#endif
