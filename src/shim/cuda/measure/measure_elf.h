/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how much zero-initialised memory a machine code image takes on the card in addition to
 * its file.
 *
 * This is the sum over the segments that are larger on the card than in the file. An image for real
 * hardware also declares it in its sections, and the larger of the two sums counts. The shared
 * memory of a thread block has such a section too, but is not device memory, so it is left out.
 * Only headers inside the image are read.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_ELF_H
#define ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_ELF_H

#include <stdint.h>

/* Returns the number of bytes up to the end of the section headers; 0: the image is no 64-bit ELF
 * file. */
uint64_t measure_elf_file(const void *image);

/* Returns the zero-initialised bytes of the image. `bytes` of the image can be read. Saturates. */
uint64_t measure_elf_zeros(const void *image, uint64_t bytes);

#endif
