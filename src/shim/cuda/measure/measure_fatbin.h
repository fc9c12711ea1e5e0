/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fat binaries: one image with code for several architectures, of which a device loads one part.
 *
 * NVIDIA does not document the layout; source: github.com/n-eiling/cuda-fatbin-decompression.
 * Nothing outside the image is read, whatever the headers say. If only the headers give its length,
 * they are trusted, as the driver does.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_FATBIN_H
#define ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_FATBIN_H

#include <stdint.h>

#define MEASURE_FATBIN_MAGIC 0xba55ed50u

/* The length of an image that only its own headers tell, as the driver is handed it. */
#define MEASURE_FATBIN_UNBOUNDED UINT64_MAX

/*
 * Size of the part that a device of this compute capability (90 for 9.0; 0: unknown) loads: the
 * newest machine code of its major version that is not newer than the device, with its zeroed
 * memory, else the newest PTX. A compressed part counts with the size in its header. The whole
 * image, if no part fits or the layout is invalid. `bytes` of the image can be read. 0: it is no
 * fat binary, or is truncated.
 */
uint64_t measure_fatbin(const void *fatbin, uint64_t bytes, unsigned capability);

#endif
