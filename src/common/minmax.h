/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smaller and the larger of two numbers. There is one function per type, so that no argument is
 * evaluated twice or changes its sign.
 *
 * A header alone; any thread.
 */
#ifndef ALIQUOT_COMMON_MINMAX_H
#define ALIQUOT_COMMON_MINMAX_H

#include <stdint.h>

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
        return a < b ? a : b;
}

static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
        return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
        return a > b ? a : b;
}

/* Returns the value in `low`..`high` that is nearest to `value`. `low` must be at most `high`. */
static inline int64_t clamp_i64(int64_t value, int64_t low, int64_t high)
{
        return max_i64(min_i64(value, high), low);
}

static inline double min_double(double a, double b)
{
        return a < b ? a : b;
}

static inline double max_double(double a, double b)
{
        return a > b ? a : b;
}

#endif
