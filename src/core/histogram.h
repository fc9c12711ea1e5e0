/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of durations with fixed bounds: from 50 us (users notice no shorter wait) to 500 ms
 * (a scheduler that takes longer counts as dead). All histograms have the same bounds, so they can
 * be added up. The caller owns the memory; an all-zero histogram is empty.
 */
#ifndef ALIQUOT_CORE_HISTOGRAM_H
#define ALIQUOT_CORE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BOUNDS 15u

struct histogram {
        /* Number of durations in each bucket, not cumulative; the last bucket has no upper
         * bound. */
        uint64_t count[HISTOGRAM_BOUNDS + 1];
        uint64_t sum_ns;
};

/* The upper bounds of the buckets, in ascending order; a duration that equals a bound is
 * counted in the bucket of that bound. */
extern const int64_t histogram_bound_ns[HISTOGRAM_BOUNDS];

/* Adds one duration to the histogram; a negative duration counts as 0. */
void histogram_add(struct histogram *histogram, int64_t ns);

#endif
