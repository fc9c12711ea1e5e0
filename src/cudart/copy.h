/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the runtime's descriptions of copies to the driver's.
 */
#ifndef ALIQUOT_CUDART_COPY_H
#define ALIQUOT_CUDART_COPY_H

#include "cudart/runtime.h"

/* Bytes of an element of an array, or 0. */
size_t array_element_bytes(const struct driver *d, CUarray array);

/* A copy of a box; `p` is not changed. Returns an error, or 0. */
int copy_box(const struct driver *d, const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret);

/* A copy of a row of bytes. Returns an error, or 0. */
int copy_row(void *to, const void *from, size_t bytes, int kind, CUDA_MEMCPY3D *ret);

#endif
