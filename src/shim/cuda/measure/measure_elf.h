/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes what a machine code image takes on the card beyond its file: zero-initialised memory.
 *
 * Segments that are larger on the card than in the file show that. An image for real hardware shows
 * it in its sections too, and the larger of the two counts; shared memory of a thread block has
 * such a section as well, but is no device memory. Only headers inside the image are read.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_ELF_H
#define ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_ELF_H

#include <stdint.h>

/* The bytes up to the end of the section headers; 0 when it is no 64-bit ELF. */
uint64_t measure_elf_file(const void *image);

/* `bytes` of the image can be read. Saturates. */
uint64_t measure_elf_zeros(const void *image, uint64_t bytes);

#endif
