/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a piece of work takes, learned from pieces that were measured: a moving mean and how far
 * they stray from it. All zero: nothing was measured yet. Pure; whoever has the lock.
 */
#ifndef ALIQUOT_SHIM_ESTIMATE_H
#define ALIQUOT_SHIM_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/* So many samples count alike; later ones an eighth each. */
#define ESTIMATE_FULL 8u

/* After so many on end that nobody would believe, they are. */
#define ESTIMATE_DOUBTS 16u

struct estimate {
        uint64_t mean_ns, stray_ns;
        uint32_t samples;
        uint32_t doubts;
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

/* `is_beside`: others may have had the device for a part of it. Then what is longer than any of
 * late says nothing of the piece, unless all are. */
static inline void estimate_learn(struct estimate *estimate, uint64_t sample_ns, bool is_beside)
{
        uint64_t most_ns = estimate->mean_ns + estimate->mean_ns / 16 + 4 * estimate->stray_ns;
        bool is_longer = is_beside && estimate->samples && sample_ns > most_ns;

        if (is_longer && estimate->doubts < ESTIMATE_DOUBTS) {
                estimate->doubts++;
                return;
        }
        if (!is_longer)
                estimate->doubts = 0;
        estimate_add(estimate, sample_ns);
}

/* What few pieces exceed. */
static inline uint64_t estimate_careful_ns(const struct estimate *estimate)
{
        return estimate->mean_ns + 2 * estimate->stray_ns;
}

#endif
