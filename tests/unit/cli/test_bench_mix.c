/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a mix: what they mean, and that a wrong one is refused by its name.
 */
#include <errno.h>
#include <string.h>

#include "cli/bench/mix.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)

static struct mix_session read(const char *word)
{
        static struct mix mix;
        struct error err = { 0 };

        mix = (struct mix){ 0 };
        if (mix_add(&mix, word, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(mix.count, 1);
        assert_string_equal(mix.session[0].word, word);
        return mix.session[0];
}

static void test_a_number_is_a_cap_and_the_rest_is_as_usual(void **state)
{
        struct mix_session session = read("30");

        assert_int_equal(session.cap_ppm, 300000);
        assert_int_equal(session.guarantee_ppm, 0);
        assert_int_equal(session.weight, 100);
        assert_int_equal(session.class, MIX_NORMAL);
        assert_string_equal(session.kind, "kernel");
        assert_int_equal(session.kernel_ns, MS);
        assert_int_equal(session.from_ns, 0);
        assert_true(session.until_ns == MIX_NEVER);
        assert_int_equal(read("12.5%").cap_ppm, 125000);
        assert_int_equal(read("100").cap_ppm, MIX_WHOLE_PPM);
}

static void test_items_in_any_order(void **state)
{
        struct mix_session session =
                read("+1.5s,rt,graph,20us,guarantee=20,weight=7,compute=40,-10s,50@2s,60@2500ms");

        assert_int_equal(session.from_ns, 1500 * MS);
        assert_int_equal(session.until_ns, 10 * S);
        assert_int_equal(session.class, MIX_RT);
        assert_string_equal(session.kind, "graph");
        assert_int_equal(session.kernel_ns, 20 * US);
        assert_int_equal(session.guarantee_ppm, 200000);
        assert_int_equal(session.weight, 7);
        assert_int_equal(session.cap_ppm, 400000);
        assert_int_equal(session.change_count, 2);
        assert_int_equal(session.change[0].cap_ppm, 500000);
        assert_int_equal(session.change[1].at_ns, 2500 * MS);
        assert_int_equal(read("priority=batch").class, MIX_BATCH);
        assert_int_equal(read("normal").cap_ppm, MIX_WHOLE_PPM);
        assert_int_equal(read("guarantee=0").guarantee_ppm, 0);
}

static void test_a_wrong_item_is_named(void **state)
{
        static const struct {
                const char *word, *said;
        } table[] = {
                { "", "expected a percentage" },
                { "30,", "expected a percentage" },
                { "fast", "fast: expected a percentage" },
                { "30,fast", "fast in 30,fast: expected a percentage" },
                { "101", "101: " },
                { "0", "0: expected 0.1 to 100 percent" },
                { "nan", "nan: expected" },
                { "compute=0", "compute=0: expected 0.1 to 100" },
                { "compute=", "compute=: " },
                { "memory=4GiB", "memory=4GiB: expected compute=, guarantee=" },
                { "weight=0", "weight=0: expected 1 to 10000" },
                { "weight=2x", "weight=2x: expected 1 to 10000" },
                { "weight=-1", "weight=-1: expected 1 to 10000" },
                { "guarantee=110", "guarantee=110: " },
                { "priority=high", "priority=high: expected rt, normal or batch" },
                { "1us", "1us: expected kernels of 5us to 10s" },
                { "20parsec", "20parsec: expected a time" },
                { "11s", "11s: expected kernels of 5us to 10s" },
                { "+x", "+x: expected a time" },
                { "-0s", "-0s: expected a time" },
                { "+3s,-2s", "+3s,-2s: expected it to stop after it begins" },
                { "50@", "50@: expected a time" },
                { "@5s", "@5s: " },
                { "50@2s,60@1s", "60@1s in 50@2s,60@1s: expected a later time" },
                { "30,50",
                  "50 in 30,50: another item has said that; a space begins the next session" },
                { "2ms,30,50", "50 in 2ms,30,50: another item" },
                { "normal,rt", "rt in normal,rt: another item" },
                { "graph,sync", "sync in graph,sync: another item" },
                { "30\t", "30?: expected" },
                { "1e9s", "1e9s: expected" },
        };
        struct mix mix = { 0 };

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
                struct error err = { 0 };

                assert_int_equal(mix_add(&mix, table[i].word, &err), -EINVAL);
                if (!strstr(err.text, table[i].said))
                        fail_msg("\"%s\": \"%s\" lacks \"%s\"", table[i].word, err.text,
                                 table[i].said);
                assert_int_equal(mix.count, 0);
        }
}

static void test_as_many_as_there_are_marks(void **state)
{
        struct mix mix = { 0 };
        struct error err = { 0 };

        for (unsigned i = 0; i < MIX_SESSIONS; i++)
                assert_int_equal(mix_add(&mix, "10", &err), 0);
        assert_int_equal(mix_add(&mix, "10", &err), -EINVAL);
        assert_non_null(strstr(err.text, "more than 8 sessions"));
}

static int check(const char *first, const char *second, struct error *err)
{
        struct mix mix = { 0 };

        assert_int_equal(mix_add(&mix, first, NULL), 0);
        assert_int_equal(mix_add(&mix, second, NULL), 0);
        return mix_check(&mix, 10 * S, err);
}

static void test_what_only_all_together_say(void **state)
{
        struct error err = { 0 };

        assert_int_equal(check("guarantee=60", "guarantee=40,+9s", &err), 0);
        assert_int_equal(check("guarantee=60", "guarantee=41", &err), -EINVAL);
        assert_non_null(strstr(err.text, "101 %"));
        assert_int_equal(check("30,guarantee=40", "10", &err), -EINVAL);
        assert_non_null(strstr(err.text, "30,guarantee=40"));
        assert_int_equal(check("50,guarantee=40,30@1s", "10", &err), -EINVAL);
        assert_int_equal(check("30,+10s", "10", &err), -EINVAL);
        assert_non_null(strstr(err.text, "30,+10s: the run is over by then"));
        assert_int_equal(check("30", "10,20@11s", &err), -EINVAL);
        assert_int_equal(check("30", "10,-12s", &err), -EINVAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_number_is_a_cap_and_the_rest_is_as_usual),
                cmocka_unit_test(test_items_in_any_order),
                cmocka_unit_test(test_a_wrong_item_is_named),
                cmocka_unit_test(test_as_many_as_there_are_marks),
                cmocka_unit_test(test_what_only_all_together_say),
        };

        return cmocka_run_group_tests_name("bench_mix", tests, NULL, NULL);
}
