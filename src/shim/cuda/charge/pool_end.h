/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Destroys memory pools. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_POOL_END_H
#define ALIQUOT_SHIM_CUDA_CHARGE_POOL_END_H

#include "abi/cuda.h"

struct meter;

/*
 * pool_made() notes that the program created a pool. pool_end() destroys a pool for the program.
 * While blocks of the pool are in use, or freed in a stream that has not executed the free, the
 * driver would keep their memory and not report when it frees it. So pool_end() keeps such a pool,
 * invisible to the program, and pool_bury(), called at later readings of the meter, destroys it
 * once it is empty.
 */
void pool_made(struct meter *meter, const CUmemPoolProps *props);
CUresult pool_end(CUmemoryPool pool);
void pool_bury(struct meter *meter);

#endif
