/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caps: alone, where the member keeps its own, and beside a neighbour who takes all that is left.
 */
#include <stdio.h>

#include "figures.h"

const int64_t wakes[WAKES] = { 100, 5 * US, 50 * US };

const struct load loads[LOADS] = {
        { "20 us", KERNELS_FIXED, PATTERN_STREAM, 20 * US, 0.5, 2 },
        { "200 us", KERNELS_FIXED, PATTERN_STREAM, 200 * US, 0.5, 2 },
        { "2 ms", KERNELS_FIXED, PATTERN_STREAM, 2 * MS, 0.5, 2 },
        { "lognormal 300 us", KERNELS_LOGNORMAL, PATTERN_STREAM, 300 * US, 0.5, 2 },
        { "bimodal 200 us", KERNELS_BIMODAL, PATTERN_STREAM, 200 * US, 0.5, 2 },
        { "launch+sync 1 ms", KERNELS_FIXED, PATTERN_SYNC, 1 * MS, 1, 2 },
        { "20 ms", KERNELS_FIXED, PATTERN_STREAM, 20 * MS, 1, 8 },
};

struct program_spec busy(const struct load *load, struct sched_terms terms)
{
        return (struct program_spec){ .terms = terms,
                                      .kernels = load->kernels,
                                      .pattern = load->pattern,
                                      .kernel_ns = load->kernel_ns,
                                      .stop_ns = NEVER };
}

static double worst_second(const struct world *world, double percent)
{
        double worst = 0;

        for (int64_t at = 0; at < LONG; at += SECOND)
                worst = max_double(worst,
                                   apart(100 * world_share(world, 0, at, at + SECOND), percent));
        return worst;
}

struct error {
        double sum, worst, worst_second, min_of_quota;
        unsigned count;
};

static void error_add(struct error *error, const struct world *world, double percent)
{
        double share = 100 * world_share(world, 0, 0, LONG);

        error->sum += apart(share, percent);
        error->worst_second = max_double(error->worst_second, worst_second(world, percent));
        error->min_of_quota = -max_double(-error->min_of_quota, -share / percent);
        error->count++;
}

static void alone_with(const struct load *load)
{
        struct error error = { .min_of_quota = 1 };
        char what[96];

        for (unsigned percent = 10; percent <= 90; percent += 10) {
                struct world_spec spec = { .seed = percent, .wake_ns = 5 * US, .count = 1 };

                spec.program[0] = busy(load, terms_of(percent, 100, SCHED_CLASS_NORMAL));
                error_add(&error, run(&spec, LONG), percent);
        }
        snprintf(what, sizeof(what), "cap 10..90 %% alone, %s: mean error", load->name);
        figure(what, error.sum / error.count, "points", load->mean_reach, false);
        snprintf(what, sizeof(what), "cap 10..90 %% alone, %s: worst second", load->name);
        figure(what, error.worst_second, "points", load->worst_reach, false);
        snprintf(what, sizeof(what), "cap 10..90 %% alone, %s: least part of the quota",
                 load->name);
        figure(what, error.min_of_quota, "", 0.97, true);
}

/* Beside a neighbour without a cap, who takes all that is left. */
static void beside_with(const struct load *load)
{
        struct error error = { .min_of_quota = 1 };
        char what[96];

        for (unsigned percent = 10; percent <= 40; percent += 10) {
                struct world_spec spec = { .seed = percent, .wake_ns = 5 * US, .count = 2 };

                spec.program[0] = busy(load, terms_of(percent, 100, SCHED_CLASS_NORMAL));
                spec.program[1] = busy(&loads[1], terms_of(100, 100, SCHED_CLASS_NORMAL));
                error_add(&error, run(&spec, LONG), percent);
        }
        snprintf(what, sizeof(what), "cap 10..40 %% beside a busy one, %s: mean error", load->name);
        figure(what, error.sum / error.count, "points", load->mean_reach, false);
        snprintf(what, sizeof(what), "cap 10..40 %% beside a busy one, %s: worst second",
                 load->name);
        figure(what, error.worst_second, "points", load->worst_reach, false);
}

/* 250 ms in which nothing runs, or nothing stops. */
static unsigned stalls(const struct world *world)
{
        unsigned found = 0;

        for (int64_t at = 0; at + 250 * MS <= LONG; at += BIN_NS) {
                double share = world_share(world, 0, at, at + 250 * MS);

                found += share == 0 || share == 1;
        }
        return found;
}

static void without_stalls(void)
{
        unsigned found = 0;

        for (unsigned n = 0; n < LOADS; n++) {
                struct world_spec spec = { .seed = n, .wake_ns = 50 * US, .count = 1 };

                spec.program[0] = busy(&loads[n], terms_of(30, 100, SCHED_CLASS_NORMAL));
                found += stalls(run(&spec, LONG));
                spec.count = 2;
                spec.program[1] = busy(&loads[n], terms_of(100, 100, SCHED_CLASS_NORMAL));
                found += stalls(run(&spec, LONG));
        }
        figure("250 ms at 0 or 100 % under a 30 % cap", found, "times", 0, false);
}

void figures_caps(void)
{
        for (unsigned n = 0; n < LOADS; n++)
                alone_with(&loads[n]);
        for (unsigned n = 0; n < LOADS; n++)
                beside_with(&loads[n]);
        without_stalls();
}
