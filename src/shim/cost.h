/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each kernel and each executable graph takes, learned from launches that were measured alone.
 *
 * A kernel that was never measured may take anything, so it is launched alone; one that is long is
 * paid for by its own cost; of those that are short many may go unasked, by the average of their
 * stream. So the hot path asks whether a kernel is known to be short (cost_doubt()): one load.
 *
 * Few are remembered: of two that fall on one place the later one counts, and the other one is
 * unknown again. Any thread; wiped in a forked child.
 */
#ifndef ALIQUOT_SHIM_COST_H
#define ALIQUOT_SHIM_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"
#include "shim/estimate.h"

/* A launch that takes longer is worth the slow path. */
#define COST_LONG_NS UINT64_C(1000000)
#define COST_SHORT_BITS 12u

extern _Atomic uint64_t cost_short[1u << COST_SHORT_BITS];

static inline uint64_t cost_place(uint64_t what, unsigned bits)
{
        return what * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits);
}

/* 0: it is known to be short. `what` is a plain 0 for work that has no name, which is never in
 * doubt. */
static inline uint64_t cost_doubt(uint64_t what)
{
        if (__builtin_constant_p(what) && !what)
                return 0;
        return load_relaxed(&cost_short[cost_place(what, COST_SHORT_BITS)]) ^ what;
}

struct cost {
        uint64_t what;
        struct estimate estimate; /* no samples: none was measured, or that is forgotten */
        uint32_t pending;         /* launches that are to be measured */
};

/* `what` is not 0, here and below. */
struct cost cost_of(uint64_t what);

static inline bool cost_is_long(const struct cost *cost)
{
        return estimate_careful_ns(&cost->estimate) > COST_LONG_NS;
}

/* From now on it is not in doubt. */
void cost_trust(uint64_t what);

/* A launch of it is to be measured; it was, or never will be. `age` is what cost_begin() said. */
uint32_t cost_begin(uint64_t what);
void cost_end(uint64_t what, uint32_t age);

/* Nothing is learned of a launch from before a cost_forget(). `is_beside`: others may have had the
 * device for a part of it. */
void cost_learn(uint64_t what, uint32_t age, uint64_t sample_ns, bool is_beside);

/* Code is unloaded, or was: its handles may be other kernels' from then on. All are unknown
 * again, since nobody tells which were its. */
void cost_forget(void);

#endif
