/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saturating arithmetic for amounts that untrusted programs may choose. Sums and products stop at
 * UINT64_MAX, which is more than any real amount; differences stop at 0.
 *
 * A header alone; any thread.
 */
#ifndef ALIQUOT_COMMON_SUMS_H
#define ALIQUOT_COMMON_SUMS_H

#include <stdint.h>

static inline uint64_t sum_of(uint64_t a, uint64_t b)
{
        uint64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t difference_of(uint64_t a, uint64_t b)
{
        return a > b ? a - b : 0;
}

static inline uint64_t product_of(uint64_t a, uint64_t b)
{
        uint64_t product;

        return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

#endif
