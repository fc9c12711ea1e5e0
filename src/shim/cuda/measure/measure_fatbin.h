/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures fat binaries: images with code for several architectures, of which a device loads one
 * part.
 *
 * NVIDIA does not document the layout; source: github.com/n-eiling/cuda-fatbin-decompression.
 * Nothing outside the image is read, whatever its headers say. If the image's length is known only
 * from its headers, they are trusted, as the driver trusts them.
 */
#ifndef ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_FATBIN_H
#define ALIQUOT_SHIM_CUDA_MEASURE_MEASURE_FATBIN_H

#include <stdint.h>

#define MEASURE_FATBIN_MAGIC 0xba55ed50u

/* Given as the length of an image whose length is known only from its headers, as the driver gets
 * it. */
#define MEASURE_FATBIN_UNBOUNDED UINT64_MAX

/*
 * Returns the size of the part that a device of this compute capability (90 for 9.0; 0: unknown)
 * loads: the newest machine code for the device's major version that is not newer than the device,
 * plus its zero-initialised memory; if there is none, the newest PTX. A compressed part counts with
 * the uncompressed size from its header. If no part fits or the layout is invalid, returns the size
 * of the whole image. `bytes` of the image can be read. 0: no fat binary, or truncated.
 */
uint64_t measure_fatbin(const void *fatbin, uint64_t bytes, unsigned capability);

#endif
