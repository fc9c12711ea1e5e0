/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the runtime's descriptions of copies to those of the driver.
 */
#ifndef ALIQUOT_CUDART_COPY_H
#define ALIQUOT_CUDART_COPY_H

#include "cudart/runtime.h"

/* Returns the bytes of an element of an array; 0: the driver returns an error, or the format
 * is unknown. */
size_t array_element_bytes(const struct driver *d, CUarray array);

/* Converts the description of a copy of a box, which is in arrays or in pitched memory. Returns an
 * error, or 0. */
int copy_box(const struct driver *d, const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret);

/* Describes a copy of `bytes` consecutive bytes as a copy of a box. Returns an error, or 0. */
int copy_row(void *to, const void *from, size_t bytes, int kind, CUDA_MEMCPY3D *ret);

#endif
