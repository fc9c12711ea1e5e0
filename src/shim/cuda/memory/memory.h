/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges plain device memory: memory that is allocated and freed by address, and freed with its
 * context at the latest.
 *
 * The charge is the size that the program requested; for pitched memory, the returned pitch times
 * the height. Managed memory counts in full, wherever its pages are. Host memory (cuMemHostAlloc,
 * cuMemHostRegister) is not device memory and is not charged. A free of an address without such a
 * charge (stream-ordered, imported, mapped or invalid) is left to the driver; it may make a pool
 * shrink.
 *
 * gen-api makes the hooks `address` and `managed` from the functions here, as cuda.api says.
 * `managed` differs in that NVML counts managed memory for no process.
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
