/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the virtual memory hooks tell the others.
 *
 * A sparse array holds memory that was made with cuMemCreate; whoever destroys an array says so.
 * Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEMORY_VMM_H
#define ALIQUOT_SHIM_CUDA_MEMORY_VMM_H

#include <stdint.h>

/* The array or mipmapped array with this handle was destroyed. */
void vmm_array_gone(uint64_t array);

#endif
