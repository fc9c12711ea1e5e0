/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long something took, counted by fixed bounds: from 50 us, below which nobody notices, to the
 * 500 ms after which a scheduler is taken for dead. The same bounds for all, so that they can be
 * added up. Plain memory of the caller's; all zero is empty.
 */
#ifndef ALIQUOT_CORE_HISTOGRAM_H
#define ALIQUOT_CORE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BOUNDS 15u

struct histogram {
        uint64_t count[HISTOGRAM_BOUNDS + 1]; /* of each bucket alone; the last has no bound */
        uint64_t sum_ns;
};

/* Ascending; what is equal to a bound is in its bucket. */
extern const int64_t histogram_bound_ns[HISTOGRAM_BOUNDS];

/* Counts one duration; a negative one counts as 0. */
void histogram_add(struct histogram *histogram, int64_t ns);

#endif
