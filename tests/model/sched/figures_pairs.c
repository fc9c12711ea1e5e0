/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several beside each other: caps, weights, a guarantee, and what all of them get together.
 */
#include <stdio.h>

#include "figures.h"

static void pair_of(unsigned one, unsigned other)
{
        double worst = 0, ratio = 0;
        char what[64];

        for (unsigned n = 0; n < LOADS; n++) {
                /* Who waits for each kernel has not the whole device even alone. */
                for (unsigned w = 0; w < 3 && loads[n].pattern == PATTERN_STREAM; w++) {
                        struct world_spec spec = { .seed = n, .wake_ns = wakes[w], .count = 2 };
                        const struct world *world;
                        double a, b;

                        spec.program[0] = busy(&loads[n], terms_of(one, 100, SCHED_CLASS_NORMAL));
                        spec.program[1] = busy(&loads[n], terms_of(other, 100, SCHED_CLASS_NORMAL));
                        world = run(&spec, LONG);
                        a = 100 * world_share(world, 0, 0, LONG);
                        b = 100 * world_share(world, 1, 0, LONG);
                        worst = greater(worst, greater(apart(a, one), apart(b, other)));
                        ratio = greater(ratio, apart(a / b * other / one, 1));
                }
        }
        snprintf(what, sizeof(what), "pair %u/%u: worst of both, any kernels", one, other);
        figure(what, worst, "points", 1, false);
        snprintf(what, sizeof(what), "pair %u/%u: ratio off by", one, other);
        figure(what, 100 * ratio, "%", 3, false);
}

static void four_weighted(void)
{
        static const int64_t kernels[] = { 20 * US, 20 * MS, 500 * US, 5 * MS };
        static const unsigned weights[] = { 100, 200, 300, 400 };
        double least = 1;

        for (unsigned w = 0; w < 3; w++) {
                struct world_spec spec = { .seed = 4, .wake_ns = wakes[w], .count = 4 };
                double sum = 0, squares = 0;
                const struct world *world;

                for (unsigned i = 0; i < 4; i++) {
                        const struct load load = { .kernel_ns = kernels[i] };

                        spec.program[i] =
                                busy(&load, terms_of(100, weights[i], SCHED_CLASS_NORMAL));
                }
                world = run(&spec, LONG);
                for (unsigned i = 0; i < 4; i++) {
                        double x = world_share(world, i, 0, LONG) / weights[i];

                        sum += x;
                        squares += x * x;
                }
                least = -greater(-least, -sum * sum / (4 * squares));
        }
        figure("four of weights 1:2:3:4, kernels 20 us..20 ms: Jain", least, "", 0.999, true);
}

static void two_busy(void)
{
        for (unsigned w = 0; w < 3; w++) {
                double least = 100;
                char what[64];

                for (unsigned n = 0; n < LOADS; n++) {
                        struct world_spec spec = { .seed = n, .wake_ns = wakes[w], .count = 2 };
                        const struct world *world;

                        if (loads[n].pattern != PATTERN_STREAM)
                                continue;
                        spec.program[0] = busy(&loads[n], terms_of(100, 100, SCHED_CLASS_NORMAL));
                        spec.program[1] = spec.program[0];
                        world = run(&spec, LONG);
                        least = -greater(-least, -100 * (world_share(world, 0, 0, LONG) +
                                                         world_share(world, 1, 0, LONG)));
                }
                snprintf(what, sizeof(what), "two busy, no caps, wake-up %.3g us: together",
                         (double)wakes[w] / US);
                figure(what, least, "%", 98.5, true);
        }
}

/* A guarantee beside three who weigh more. */
static void guaranteed(void)
{
        struct world_spec spec = { .seed = 1, .wake_ns = 5 * US, .count = 4 };

        for (unsigned i = 0; i < 4; i++)
                spec.program[i] =
                        busy(&loads[i], terms_of(100, i == 0 ? 1 : 1000, SCHED_CLASS_NORMAL));
        spec.program[0].terms.guarantee_ppm = 600000;
        figure("guarantee 60 % beside three of weight 1000:1",
               100 * world_share(run(&spec, LONG), 0, 0, LONG), "%", 59, true);
}

void figures_pairs(void)
{
        pair_of(30, 70);
        pair_of(30, 60);
        pair_of(25, 75);
        pair_of(10, 90);
        four_weighted();
        two_busy();
        guaranteed();
}
