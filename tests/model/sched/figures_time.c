/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How soon: rt beside batch, and a change of terms or of neighbours.
 */
#include <stdio.h>

#include "figures.h"

/* -- rt --------------------------------------------------------------------------------------- */

/* Requests that come at random, and take a fifth of the time. */
static struct program_spec service(int64_t request_ns)
{
        return (struct program_spec){ .terms = terms_of(100, 100, SCHED_CLASS_RT),
                                      .pattern = PATTERN_REQUEST,
                                      .kernel_ns = 100 * US,
                                      .burst = (unsigned)(request_ns / (100 * US)),
                                      .think_ns = 4 * request_ns,
                                      .stop_ns = NEVER };
}

static struct program_spec rival(int64_t kernel_ns)
{
        return (struct program_spec){ .terms = terms_of(100, 100, SCHED_CLASS_BATCH),
                                      .kernel_ns = kernel_ns,
                                      .stop_ns = NEVER };
}

static double latency_p99(const struct world *world)
{
        return percentile_us(world->program[0].latency, world->program[0].latencies, 0.99);
}

static void rt_beside(int64_t request_ns, int64_t kernel_ns, double reach)
{
        struct world_spec spec = { .seed = 7, .wake_ns = 5 * US, .count = 1 };
        const struct world *world;
        double alone, beside;
        char what[96];

        spec.program[0] = service(request_ns);
        alone = latency_p99(run(&spec, LONG));
        spec.count = 2;
        spec.program[1] = rival(kernel_ns);
        world = run(&spec, LONG);
        beside = latency_p99(world);
        snprintf(what, sizeof(what), "rt, %.3g ms at 20 %%, beside batch of %.3g ms: p99 / alone",
                 (double)request_ns / MS, (double)kernel_ns / MS);
        figure(what, beside / alone, "", reach, false);
        snprintf(what, sizeof(what), "rt, %.3g ms at 20 %%, and batch of %.3g ms: together",
                 (double)request_ns / MS, (double)kernel_ns / MS);
        figure(what, 100 * (world_share(world, 0, 0, LONG) + world_share(world, 1, 0, LONG)), "%",
               90, true);
}

static void yields(int64_t kernel_ns, double reach)
{
        struct world_spec spec = { .seed = 9, .wake_ns = 5 * US, .count = 2 };
        const struct program *program;
        char what[64];

        spec.program[0] = service(2 * MS);
        spec.program[1] = rival(kernel_ns);
        program = &run(&spec, LONG)->program[1];
        snprintf(what, sizeof(what), "yield to rt, kernels of %.3g ms: p99",
                 (double)kernel_ns / MS);
        figure(what, percentile_us(program->yield, program->yields, 0.99), "us", reach, false);
}

/* rt without a pause, and batch: its floor. */
static void floor_of_batch(void)
{
        struct world_spec spec = { .seed = 3, .wake_ns = 5 * US, .count = 2 };

        spec.program[0] = rival(200 * US);
        spec.program[0].terms.class = SCHED_CLASS_RT;
        spec.program[1] = rival(200 * US);
        figure("batch beside rt that never pauses", 100 * world_share(run(&spec, LONG), 1, 0, LONG),
               "%", 0.9, true);
}

/* Both are kept, whatever their turns lose to each other. */
static void guaranteed_beside_rt(void)
{
        static const int64_t lengths[] = { 20 * US, 200 * US, 2 * MS };
        double most = 0;

        for (unsigned n = 0; n < 3 * 3 * WAKES; n++) {
                for (unsigned percent = 10; percent <= 90; percent += 20) {
                        struct world_spec spec = { .seed = n, .wake_ns = wakes[n / 9], .count = 2 };

                        spec.program[0] = rival(lengths[n % 3]);
                        spec.program[0].terms.class = SCHED_CLASS_RT;
                        spec.program[1] = rival(lengths[n / 3 % 3]);
                        spec.program[1].terms.class = SCHED_CLASS_NORMAL;
                        spec.program[1].terms.guarantee_ppm = percent * 10000;
                        most = max_double(most, apart(100 * world_share(run(&spec, 5 * SECOND), 1,
                                                                        0, 5 * SECOND),
                                                      percent));
                }
        }
        figure("guarantee 10..90 % beside rt that never pauses: most off", most, "points", 1,
               false);
}

/* What drains beside rt is used all the same. */
static void capped_beside_rt(void)
{
        static const int64_t lengths[] = { 100 * US, 500 * US, 2 * MS };
        double most = -100;

        for (unsigned n = 0; n < 3; n++) {
                for (unsigned percent = 10; percent <= 70; percent += 20) {
                        struct world_spec spec = { .seed = n, .wake_ns = 5 * US, .count = 2 };

                        spec.program[0] = service(2 * MS);
                        spec.program[1] = rival(lengths[n]);
                        spec.program[1].terms.cap_ppm = percent * 10000;
                        most = max_double(most, 100 * world_share(run(&spec, LONG), 1, 0, LONG) -
                                                        percent);
                }
        }
        figure("batch under a cap of 10..70 %, beside rt: most above it", most, "points", 0.5,
               false);
}

void figures_rt(void)
{
        rt_beside(10 * MS, 100 * US, 1.1);
        rt_beside(10 * MS, 500 * US, 1.1);
        rt_beside(2 * MS, 500 * US, 1.4); /* no better than the yield allows */
        yields(100 * US, 300);
        yields(500 * US, 700);
        floor_of_batch();
        guaranteed_beside_rt();
        capped_beside_rt();
}

/* -- Changes ---------------------------------------------------------------------------------- */

/* From when on the average of every 500 ms is within two points. (Of 250 ms, it cannot always be: a
 * lease and what is in flight at its end are 6 ms with kernels of 2 ms.) */
static double settled_ms(const struct world *world, int64_t from, int64_t to, double percent)
{
        int64_t settled = from;

        for (int64_t at = from; at + 500 * MS <= to; at += BIN_NS) {
                if (apart(100 * world_share(world, 0, at, at + 500 * MS), percent) > 2)
                        settled = at + BIN_NS;
        }
        return (double)(settled - from) / MS;
}

static double step_of(int64_t kernel_ns, unsigned neighbours)
{
        struct world_spec spec = { .seed = 5, .wake_ns = 5 * US, .count = 1 + neighbours };
        const struct sched_terms low = terms_of(20, 100, SCHED_CLASS_NORMAL);
        const struct sched_terms high = terms_of(neighbours ? 45 : 80, 100, SCHED_CLASS_NORMAL);
        double settled, back, want = (double)high.cap_ppm / 10000;
        struct world *world;

        spec.program[0] = rival(kernel_ns);
        spec.program[0].terms = low;
        spec.program[1] = rival(200 * US);
        spec.program[1].terms = terms_of(100, 100, SCHED_CLASS_NORMAL);
        world = run(&spec, 2 * SECOND);
        world_change(world, 0, &high);
        world_run(world, 4 * SECOND);
        world_change(world, 0, &low);
        world_run(world, 6 * SECOND);
        settled = settled_ms(world, 2 * SECOND, 4 * SECOND, want);
        back = settled_ms(world, 4 * SECOND, 6 * SECOND, 20);
        return max_double(settled, back);
}

/* One runs alone; another comes, and goes again. */
static double arrival_of(int64_t kernel_ns)
{
        struct world_spec spec = { .seed = 6, .wake_ns = 5 * US, .count = 2 };
        const struct world *world;
        double settled;

        spec.program[0] = rival(kernel_ns);
        spec.program[1] = rival(200 * US);
        spec.program[1].start_ns = 2 * SECOND;
        spec.program[1].stop_ns = 4 * SECOND;
        world = run(&spec, 6 * SECOND);
        settled = settled_ms(world, 2 * SECOND, 4 * SECOND, 50);
        return max_double(settled, settled_ms(world, 4 * SECOND, 6 * SECOND, 100));
}

void figures_change(void)
{
        figure("cap 20 -> 80 -> 20 % alone: settled after",
               max_double(step_of(200 * US, 0), step_of(2 * MS, 0)), "ms", 50, false);
        figure("cap 20 -> 45 -> 20 % beside a busy one: settled after",
               max_double(step_of(200 * US, 1), step_of(2 * MS, 1)), "ms", 50, false);
        figure("a neighbour comes and goes: settled after",
               max_double(arrival_of(200 * US), arrival_of(2 * MS)), "ms", 50, false);
}
