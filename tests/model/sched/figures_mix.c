/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixes that nobody thought of: up to six programs, drawn by lot with all they may be given.
 */
#include <string.h>

#include "figures.h"

#define MIXES 60u
#define MIX (5 * SECOND)

static unsigned drawn(struct world *lot, unsigned count)
{
        return (unsigned)(world_chance(lot) * count);
}

static struct program_spec program_drawn(struct world *lot, unsigned *promised)
{
        static const unsigned caps[] = { 100, 100, 60, 30, 10 };
        static const int64_t lengths[] = { 20 * US, 100 * US, 500 * US, 2 * MS, 5 * MS };
        unsigned cap = caps[drawn(lot, 5)], part = 5 + drawn(lot, 25);
        struct program_spec spec = {
                .terms = terms_of(cap, 50 + drawn(lot, 400), SCHED_CLASS_NORMAL),
                .kernels = (enum kernels)drawn(lot, 3),
                .pattern = drawn(lot, 4) ? PATTERN_STREAM : PATTERN_SYNC,
                .kernel_ns = lengths[drawn(lot, 5)],
                .think_ns = drawn(lot, 2) * 100 * US,
                .stop_ns = NEVER,
        };

        if (drawn(lot, 5) == 0)
                spec.terms.class = SCHED_CLASS_BATCH;
        if (drawn(lot, 2) && part <= cap && *promised + part <= 90) {
                spec.terms.guarantee_ppm = part * 10000;
                *promised += part;
        }
        return spec;
}

static struct world_spec mix_drawn(uint64_t seed)
{
        static const int64_t waking[] = { 100, 5 * US, 50 * US };
        static struct world lot;
        struct world_spec spec = { .seed = seed };
        unsigned promised = 0;

        memset(&lot, 0, sizeof(lot));
        lot.random = seed;
        spec.wake_ns = waking[drawn(&lot, 3)];
        spec.count = 2 + drawn(&lot, 5);
        for (unsigned i = 0; i < spec.count; i++)
                spec.program[i] = program_drawn(&lot, &promised);
        return spec;
}

struct mixed {
        double above_cap, below_guarantee, together;
};

static void mix_look(const struct world *world, struct mixed *ret)
{
        double sum = 0;
        bool is_all_wanted = false, is_filled = true;

        for (unsigned i = 0; i < world->spec.count; i++) {
                const struct program_spec *spec = &world->spec.program[i];
                double share = 100 * world_share(world, i, 0, MIX);
                double cap = spec->terms.cap_ppm / 10000.0;
                double least = spec->terms.guarantee_ppm / 10000.0;
                bool is_stream = spec->pattern == PATTERN_STREAM;

                sum += share;
                is_all_wanted |= cap == 100;
                is_filled &= is_stream; /* who pauses has its turn all the same */
                ret->above_cap = max_double(ret->above_cap, share - cap);
                if (is_stream)
                        ret->below_guarantee = max_double(ret->below_guarantee, least - share);
        }
        if (is_all_wanted && is_filled)
                ret->together = -max_double(-ret->together, -sum);
}

void figures_mixes(void)
{
        struct mixed mixed = { .together = 100 };

        for (uint64_t seed = 1; seed <= MIXES; seed++) {
                const struct world_spec spec = mix_drawn(seed);

                mix_look(run(&spec, MIX), &mixed);
        }
        figure("60 mixes by lot, 5 s each: most above a cap", mixed.above_cap, "points", 1, false);
        figure("the same: most below a guarantee", mixed.below_guarantee, "points", 1, false);
        figure("the same, streams only, one without a cap: least together", mixed.together, "%",
               97.5, true);
}
