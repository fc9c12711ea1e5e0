/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sample.h.
 */
#include "shim/sample.h"

#include "common/atomic.h"

/* One that is measured stands for no more than so much, were it the longest of late; but for this
 * at least. */
#define MOST_NS UINT64_C(2000000)
#define LEAST_NS UINT64_C(100000)

uint32_t sample_gap(uint64_t mean)
{
        static _Atomic uint64_t last;
        uint64_t x = add_relaxed(&last, UINT64_C(0x9e3779b97f4a7c15));

        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return mean < 2 ? 1 : 1 + (uint32_t)((x ^ x >> 31) % (2 * mean - 1));
}

uint64_t sample_mean(uint64_t mean_ns, uint64_t longest_ns)
{
        uint64_t gap = SAMPLE_NS / mean_ns, least = LEAST_NS / mean_ns;
        uint64_t most = longest_ns ? MOST_NS / longest_ns : gap;

        if (gap <= most)
                return gap;
        return most > least ? most : least;
}
