/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of pools. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_POOL_END_H
#define ALIQUOT_SHIM_CUDA_CHARGE_POOL_END_H

#include "abi/cuda.h"

struct meter;

/*
 * The program destroys a pool. While blocks of it are in use, or freed in a stream that has not
 * reached the free, the driver would keep their memory and not report when it frees it. So the pool
 * is kept, invisible to the program, and pool_bury() destroys it at a later look, once it is empty.
 */
void pool_made(struct meter *meter, const CUmemPoolProps *props);
CUresult pool_end(CUmemoryPool pool);
void pool_bury(struct meter *meter);

#endif
