/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits by which the program itself learns that a stream is empty: nobody need ask the driver.
 *
 *      uint64_t began_ns = told_begin();
 *      ... the call, which returns when all is done that was in the stream ...
 *      told_end(stream, began_ns);
 */
#ifndef ALIQUOT_SHIM_CUDA_TOLD_H
#define ALIQUOT_SHIM_CUDA_TOLD_H

#include <stdint.h>

#include "abi/cuda.h"

/* 0: nothing of this thread is metered. */
uint64_t told_begin(void);

/* The stream, with the default one spelt out, or the context (POOL_CONTEXT), has done all that it
 * was given. */
void told_end(CUstream stream, uint64_t began_ns);

#endif
