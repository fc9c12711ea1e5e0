/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of much that is alike enough, a few are measured, picked at random, and stand for the others.
 */
#ifndef ALIQUOT_SHIM_SAMPLE_H
#define ALIQUOT_SHIM_SAMPLE_H

#include <stdint.h>

/* One is measured for so much work that is not, on average; and for so many, 1 << that, at most. */
#define SAMPLE_NS UINT64_C(1000000)
#define SAMPLE_BITS 6u

/* From one that is measured to the next, on average, where each takes `mean_ns` (not 0). Fewer
 * where the longest of late took much longer, since one of those may be it. */
uint64_t sample_mean(uint64_t mean_ns, uint64_t longest_ns);

/* A random number with that mean, at least 1. Any thread. */
uint32_t sample_gap(uint64_t mean);

#endif
