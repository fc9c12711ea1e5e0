/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget for work that tenants lengthen: its sum is bounded however many ask, and cheap work
 * of others goes on. Time is the test's.
 */
#include "daemon/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MOST UINT64_C(50000000)
#define HOSTILE 5000u

static struct budget budget;
static uint64_t now_ns;

static int begin(void **state)
{
        memset(&budget, 0, sizeof(budget));
        budget.most_ns = MOST;
        now_ns = 100 * SECOND;
        return 0;
}

/* Work that takes what it may, and at least this much. Returns what it took. */
static uint64_t work(unsigned who, uint64_t least_ns)
{
        const uint8_t id[16] = { (uint8_t)who, (uint8_t)(who >> 8) };
        uint64_t most_ns = budget_begin(&budget, id, now_ns);
        uint64_t used_ns = most_ns > least_ns ? most_ns : least_ns;

        if (!most_ns)
                return 0;
        now_ns += used_ns;
        budget_end(&budget, id, now_ns, used_ns);
        return used_ns;
}

static uint64_t cheap_work(unsigned who)
{
        const uint8_t id[16] = { (uint8_t)who, (uint8_t)(who >> 8) };
        uint64_t most_ns = budget_begin(&budget, id, now_ns);

        if (most_ns)
                budget_end(&budget, id, now_ns, BUDGET_CHEAP_NS / 2);
        return most_ns;
}

static void use_up(unsigned who)
{
        while (work(who, BUDGET_CHEAP_NS + 1))
                continue;
}

/* Also those who are not known yet to be dear: each of them is so once. */
static void however_many_are_dear_the_sum_is_bounded(void **state)
{
        uint64_t used_ns = 0, first_ns, began_ns;

        for (unsigned i = 0; i < HOSTILE; i++)
                work(i, 4 * BUDGET_CHEAP_NS);
        began_ns = now_ns;
        for (unsigned i = 0; now_ns - began_ns < 100 * SECOND; i++) {
                first_ns = work(i % HOSTILE, 4 * BUDGET_CHEAP_NS);
                used_ns += first_ns;
                now_ns += first_ns ? 0 : SECOND / 10000;
        }
        assert_true(used_ns <= (now_ns - began_ns) / BUDGET_SHARE + BUDGET_BURST_NS);
        assert_true(used_ns >= MOST);
}

static void cheap_work_goes_on_when_the_budget_is_out(void **state)
{
        use_up(1);
        for (unsigned i = 0; i < 1000; i++)
                assert_true(cheap_work(2) >= BUDGET_CHEAP_NS);
        assert_int_equal(work(1, 0), 0);
}

/* It may be as dear as the others: however many come anew, each has little. */
static void who_is_not_known_yet_has_little_when_the_budget_is_out(void **state)
{
        use_up(1);
        for (unsigned i = 2; i < HOSTILE; i++)
                assert_int_equal(cheap_work(i), BUDGET_CHEAP_NS);
}

static void cheap_work_is_not_charged(void **state)
{
        for (unsigned i = 0; i < 100000; i++)
                assert_int_equal(cheap_work(2), MOST);
}

/* As with a signal that each second is tried again, of the sessions always in the same order. */
static void who_waits_has_its_turn(void **state)
{
        unsigned reached = 0;

        for (unsigned i = 0; i < 20; i++)
                use_up(i);
        for (unsigned second = 0; second < 200; second++) {
                for (unsigned i = 0; i < 20; i++)
                        reached |= work(i, 0) == MOST ? 1u << i : 0;
                now_ns += SECOND;
        }
        assert_int_equal(reached, (1u << 20) - 1);
}

static void who_waits_no_longer_keeps_nobody_waiting(void **state)
{
        use_up(1);
        use_up(2);
        now_ns += SECOND * 20;
        assert_int_equal(work(2, 0), MOST);
}

static void after_a_rest_there_is_one_burst_and_no_more(void **state)
{
        uint64_t used_ns = 0, took_ns;

        now_ns += 1000 * SECOND;
        while ((took_ns = work(1, 0)))
                used_ns += took_ns;
        assert_in_range(used_ns, BUDGET_BURST_NS, BUDGET_BURST_NS + MOST);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(however_many_are_dear_the_sum_is_bounded, begin),
                cmocka_unit_test_setup(cheap_work_goes_on_when_the_budget_is_out, begin),
                cmocka_unit_test_setup(who_is_not_known_yet_has_little_when_the_budget_is_out,
                                       begin),
                cmocka_unit_test_setup(cheap_work_is_not_charged, begin),
                cmocka_unit_test_setup(who_waits_has_its_turn, begin),
                cmocka_unit_test_setup(who_waits_no_longer_keeps_nobody_waiting, begin),
                cmocka_unit_test_setup(after_a_rest_there_is_one_burst_and_no_more, begin),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
