/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs, honest ones and liars: no honest one is ever reported, however its work falls
 * into the windows; every liar is.
 */
#include "core/claims.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define RUNS 400u
#define LOOKS 120u
#define CAPS 9u

static struct {
        struct claim claim;
        struct claims_sight sight;
        uint64_t random;
        uint64_t used_ns; /* in truth, and not yet shown or told */
        uint64_t unshown_ns, untold_ns;
        unsigned reports;
} run;

static const struct claims_policy policy = { .tolerance_percent = 10 };

/* SplitMix64. */
static uint64_t random_below(uint64_t most)
{
        uint64_t z = run.random += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return (z ^ z >> 31) % most;
}

/* The driver is up to a period late, and tells whole percents, rounded as it likes. */
static uint64_t shown(uint64_t elapsed_ns)
{
        uint64_t late_ns = random_below(run.used_ns / 3 + 1);
        uint64_t due_ns = run.unshown_ns - (late_ns < run.unshown_ns ? late_ns : run.unshown_ns);
        uint64_t percent_ns = elapsed_ns / 100;

        run.unshown_ns -= due_ns;
        return (due_ns + random_below(percent_ns)) / percent_ns * percent_ns;
}

/* What is measured is told when it is over: up to 40 ms of it later. */
static void tell(unsigned truth_percent)
{
        uint64_t late_ns = random_below(40 * MS);

        if (run.untold_ns > late_ns) {
                run.sight.busy_ns += (run.untold_ns - late_ns) * truth_percent / 100;
                run.untold_ns = late_ns;
        }
}

static void look(uint64_t used_ns, uint64_t elapsed_ns, unsigned truth_percent)
{
        run.used_ns = used_ns;
        run.unshown_ns += used_ns;
        run.untold_ns += used_ns;
        run.sight.elapsed_ns = elapsed_ns;
        run.sight.shown_ns = shown(elapsed_ns);
        tell(truth_percent);
        run.reports += claims_see(&run.claim, &policy, &run.sight);
}

static void begin(uint64_t seed, uint32_t cap_ppm)
{
        memset(&run, 0, sizeof(run));
        run.random = seed;
        run.sight =
                (struct claims_sight){ .is_measured = true, .is_free = true, .cap_ppm = cap_ppm };
        look(0, SECOND, 100);
}

static void play(unsigned truth_percent)
{
        for (unsigned i = 0; i < LOOKS; i++) {
                uint64_t elapsed_ns = (950 + random_below(550)) * MS;
                uint64_t max_ns = elapsed_ns / 1000 * (run.sight.cap_ppm / 1000);
                bool is_idle = truth_percent == 100 && random_below(4) == 0;

                look(is_idle ? 0 : max_ns, elapsed_ns, truth_percent);
        }
}

static void no_honest_one_is_ever_reported(void **state)
{
        for (uint64_t seed = 1; seed <= RUNS; seed++) {
                begin(seed, (uint32_t)(1 + seed % CAPS) * 100000);
                play(100);
                assert_int_equal(run.reports, 0);
        }
}

static void every_liar_is(void **state)
{
        for (uint64_t seed = 1; seed <= RUNS; seed++) {
                begin(seed, (uint32_t)(4 + seed % 6) * 100000);
                play((unsigned)random_below(50));
                assert_int_equal(run.reports, 1);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_honest_one_is_ever_reported),
                cmocka_unit_test(every_liar_is),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
