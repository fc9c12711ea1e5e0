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
                        worst = max_double(worst, max_double(apart(a, one), apart(b, other)));
                        ratio = max_double(ratio, apart(a / b * other / one, 1));
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
                least = -max_double(-least, -sum * sum / (4 * squares));
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
                        least = -max_double(-least, -100 * (world_share(world, 0, 0, LONG) +
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

/* -- A server that pauses after each step, beside a job that wants all ------------------------ */

#define STEP (2300 * US)

/* What it was promised or what it offers alone, whichever is less: by how much it got less. */
static double server_lacks(const struct world_spec *spec, double percent, double *ret_together)
{
        struct world_spec alone = *spec;
        double offers, got, together;
        const struct world *world;

        alone.count = 1;
        offers = 100 * world_share(run(&alone, LONG), 0, 0, LONG);
        world = run(spec, LONG);
        got = 100 * world_share(world, 0, 0, LONG);
        together = got + 100 * world_share(world, 1, 0, LONG);
        *ret_together = -max_double(-*ret_together, -together);
        return (percent < offers ? percent : offers) - got;
}

/* Steps of 23 kernels; of the last pauses each is of another length. */
static void server_beside_batch(const char *promised, struct sched_terms terms, double percent,
                                double reach)
{
        static const int64_t pauses[][2] = { { 250, 0 }, { 300, 0 }, { 500, 0 }, { 200, 600 } };
        double most = -100, together = 100;
        char what[96];

        for (unsigned n = 0; n < 4 * 2 * 2; n++) {
                struct world_spec spec = { .seed = n, .wake_ns = wakes[n / 8], .count = 2 };

                spec.program[0] = (struct program_spec){ .terms = terms,
                                                         .pattern = PATTERN_SYNC,
                                                         .kernel_ns = STEP / 23,
                                                         .burst = 23,
                                                         .think_ns = pauses[n % 4][0] * US,
                                                         .think_more_ns = pauses[n % 4][1] * US,
                                                         .stop_ns = NEVER };
                spec.program[1] = busy(&loads[n / 4 % 2], terms_of(100, 100, SCHED_CLASS_NORMAL));
                most = max_double(most, server_lacks(&spec, percent, &together));
        }
        snprintf(what, sizeof(what), "steps of 2.3 ms with pauses, %s, beside a busy one: lacks",
                 promised);
        figure(what, most, "points", reach, false);
        figure("the same: together", together, "%", 90, true);
}

static void servers(void)
{
        struct sched_terms guaranteed = terms_of(100, 100, SCHED_CLASS_NORMAL);

        guaranteed.guarantee_ppm = 600000;
        server_beside_batch("guarantee 60", guaranteed, 60, 2);
        server_beside_batch("weight 300", terms_of(100, 300, SCHED_CLASS_NORMAL), 75, 6);
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
        servers();
}
