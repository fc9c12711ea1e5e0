/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fat binaries: one image with code for several architectures, of which a device loads one part.
 *
 * The layout is not documented by NVIDIA; source: github.com/n-eiling/cuda-fatbin-decompression.
 * Whatever the headers say, nothing outside of the image is read; of one whose length only they
 * tell, as the driver trusts them too.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_FATBIN_H
#define ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_FATBIN_H

#include <stdint.h>

#define MEASURE_FATBIN_MAGIC 0xba55ed50u

/* The length of an image that only its own headers tell, as the driver is handed it. */
#define MEASURE_FATBIN_UNBOUNDED UINT64_MAX

/*
 * Bytes of the part that a device of this compute capability (90 for 9.0; 0: unknown) loads: the
 * newest machine code of its major version that is not newer than the device, with its zeroed
 * memory, else the newest PTX. A compressed part counts as large as its header says it will be. The
 * whole image where no part fits, or the parts do not lie as they should. `bytes` of the image can
 * be read. 0: it is no fat binary, or is cut off.
 */
uint64_t measure_fatbin(const void *fatbin, uint64_t bytes, unsigned capability);

#endif
