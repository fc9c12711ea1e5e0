/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the terms promise, by the rules of docs/compute.md.
 */
#include <math.h>
#include <string.h>

#include "cli/bench/mix.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define S UINT64_C(1000000000)

/* Words with spaces between. */
static struct mix mix_of(const char *words)
{
        struct mix mix = { 0 };
        char copy[256], *rest = copy, *word;

        strcpy(copy, words);
        while ((word = strsep(&rest, " ")))
                assert_int_equal(mix_add(&mix, word, NULL), 0);
        return mix;
}

static void expect(const double *got, const double *wanted, unsigned count, const char *words)
{
        for (unsigned i = 0; i < count; i++) {
                if (fabs(got[i] - wanted[i]) > 1e-9)
                        fail_msg("%s: %u has %.6f, not %.6f", words, i, got[i], wanted[i]);
        }
}

static void test_one_moment(void **state)
{
        static const struct {
                const char *words;
                double share[4];
        } table[] = {
                { "30", { 0.3 } },
                { "30 70", { 0.3, 0.7 } },
                { "30 60", { 0.3, 0.6 } },
                { "50 60", { 0.5, 0.5 } },
                { "20 100", { 0.2, 0.8 } },
                { "weight=100 weight=300", { 0.25, 0.75 } },
                { "10,weight=300 weight=100 weight=100", { 0.1, 0.45, 0.45 } },
                { "guarantee=60,weight=1 weight=10000", { 0.6, 0.4 } },
                { "guarantee=20,weight=300 weight=100", { 0.75, 0.25 } },
                { "rt batch", { 0.99, 0.01 } },
                { "40,rt normal batch", { 0.4, 0.595, 0.005 } },
                { "rt normal batch", { 0.99, 0.005, 0.005 } },
                { "rt weight=300 normal", { 0.99, 0.005, 0.005 } },
                { "rt batch,guarantee=30", { 0.7, 0.3 } },
                { "rt,+5s batch", { 0, 1 } },
        };

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
                struct mix mix = mix_of(table[i].words);
                double share[MIX_SESSIONS];

                mix_promise(&mix, 0, share);
                expect(share, table[i].share, mix.count, table[i].words);
        }
}

static void test_changes_and_who_comes_and_goes(void **state)
{
        struct mix mix = mix_of("30,60@4s weight=100,+2s,-6s weight=100");
        double share[MIX_SESSIONS];

        mix_promise(&mix, 1 * S, share);
        expect(share, (double[]){ 0.3, 0, 0.7 }, 3, "alone");
        mix_promise(&mix, 2 * S, share);
        expect(share, (double[]){ 0.3, 0.35, 0.35 }, 3, "somebody came");
        mix_promise(&mix, 4 * S, share);
        expect(share, (double[]){ 1.0 / 3, 1.0 / 3, 1.0 / 3 }, 3, "a higher cap");
        mix_promise(&mix, 6 * S, share);
        expect(share, (double[]){ 0.5, 0, 0.5 }, 3, "somebody left");
        mix_promise_over(&mix, 1 * S, 3 * S, share);
        expect(share, (double[]){ 0.3, 0.175, 0.525 }, 3, "over the coming");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_moment),
                cmocka_unit_test(test_changes_and_who_comes_and_goes),
        };

        return cmocka_run_group_tests_name("bench_promise", tests, NULL, NULL);
}
