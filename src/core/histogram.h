/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of durations with fixed bounds: from 50 us, below which no user notices a wait, to
 * the 500 ms after which a scheduler counts as dead. All histograms have the same bounds, so they
 * can be added up. The caller owns the memory; all zero is empty.
 */
#ifndef ALIQUOT_CORE_HISTOGRAM_H
#define ALIQUOT_CORE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BOUNDS 15u

struct histogram {
        uint64_t count[HISTOGRAM_BOUNDS +
                       1]; /* one bucket each, not cumulative; the last has no bound */
        uint64_t sum_ns;
};

/* Ascending; a value equal to a bound is in that bucket. */
extern const int64_t histogram_bound_ns[HISTOGRAM_BOUNDS];

/* Counts one duration; a negative one counts as 0. */
void histogram_add(struct histogram *histogram, int64_t ns);

#endif
