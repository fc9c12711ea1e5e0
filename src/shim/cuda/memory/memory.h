/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain device memory: allocated and freed by address, gone with its context at the latest.
 *
 * Charged as asked for: the bytes; of pitched memory, the returned pitch times the height. Managed
 * memory counts in full wherever its pages are. Host memory (cuMemHostAlloc, cuMemHostRegister) is
 * not device memory and is not charged. A free of an address that is not in the table (stream-
 * ordered, imported, mapped, wrong) is the driver's business alone; it may make a pool shrink.
 *
 * cuda.api makes the hooks of `address`, and of `managed`: the same, of bytes that NVML counts for
 * no process.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_MEMORY_H
#define ALIQUOT_SHIM_CUDA_MEMORY_MEMORY_H

#include "shim/cuda/charge/charged_call.h"

struct charged_call address_begin(struct out ret, uint64_t bytes);
CUresult address_end(struct charged_call *call);

struct charged_call managed_begin(struct out ret, uint64_t bytes);
static inline CUresult managed_end(struct charged_call *call)
{
        return address_end(call);
}

#endif
