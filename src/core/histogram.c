/* SPDX-License-Identifier: Apache-2.0 */
#include "core/histogram.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

const int64_t histogram_bound_ns[HISTOGRAM_BOUNDS] = {
        50 * US, 100 * US, 200 * US, 300 * US, 500 * US, 700 * US, 1 * MS,   2 * MS,
        5 * MS,  10 * MS,  20 * MS,  50 * MS,  100 * MS, 200 * MS, 500 * MS,
};

void histogram_add(struct histogram *histogram, int64_t ns)
{
        unsigned at = 0;

        while (at < HISTOGRAM_BOUNDS && ns > histogram_bound_ns[at])
                at++;
        histogram->count[at]++;
        histogram->sum_ns += ns > 0 ? (uint64_t)ns : 0;
}
