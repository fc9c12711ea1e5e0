/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a piece of work takes, learned from pieces that were measured: a moving mean and how far
 * they stray from it. All zero: nothing was measured yet. Pure; whoever has the lock.
 */
#ifndef ALIQUOT_SHIM_ESTIMATE_H
#define ALIQUOT_SHIM_ESTIMATE_H

#include <stdint.h>

/* So many samples count alike; later ones an eighth each. */
#define ESTIMATE_FULL 8u

struct estimate {
        uint64_t mean_ns, stray_ns;
        uint32_t samples;
};

static inline void estimate_add(struct estimate *estimate, uint64_t sample_ns)
{
        int64_t weight = estimate->samples < ESTIMATE_FULL ? estimate->samples + 1 : ESTIMATE_FULL;
        int64_t off_ns = (int64_t)(sample_ns - estimate->mean_ns);
        int64_t stray_ns = estimate->samples ? (off_ns < 0 ? -off_ns : off_ns) : 0;

        estimate->mean_ns = (uint64_t)((int64_t)estimate->mean_ns + off_ns / weight);
        estimate->stray_ns = (uint64_t)((int64_t)estimate->stray_ns +
                                        (stray_ns - (int64_t)estimate->stray_ns) / weight);
        if (estimate->samples < ESTIMATE_FULL)
                estimate->samples++;
}

/* What few pieces exceed. */
static inline uint64_t estimate_careful_ns(const struct estimate *estimate)
{
        return estimate->mean_ns + 2 * estimate->stray_ns;
}

#endif
