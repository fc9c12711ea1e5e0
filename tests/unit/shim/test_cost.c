/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each kernel takes: which of them may go unasked.
 */
#include "shim/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "wiped_fixture.h"

#define US UINT64_C(1000)
#define MS (1000 * US)

/* Of kernels, whose handles are addresses. */
static uint64_t name(void)
{
        static uint64_t last = UINT64_C(0x7f0000001000);

        return last += 64;
}

static void learn(uint64_t what, uint64_t ns)
{
        uint32_t age = cost_begin(what);

        cost_learn(what, age, ns, false);
        cost_end(what, age);
}

static void what_was_never_measured_is_in_doubt(void **state)
{
        uint64_t what = name();

        assert_true(cost_doubt(what) != 0);
        assert_int_equal(cost_of(what).estimate.samples, 0);
        learn(what, 20 * US);
        assert_true(cost_doubt(what) == 0);
        assert_int_equal(cost_of(what).estimate.mean_ns, 20 * US);
}

static void fills_and_copies_have_no_name_and_are_not(void **state)
{
        assert_true(cost_doubt(0) == 0);
}

static void what_is_long_is_in_doubt_however_well_it_is_known(void **state)
{
        uint64_t what = name();
        struct cost cost;

        for (unsigned i = 0; i < 8; i++)
                learn(what, 3 * MS);
        cost = cost_of(what);
        assert_true(cost_is_long(&cost));
        assert_true(cost_doubt(what) != 0);
}

/* The first launch loads the kernel, perhaps. */
static void what_was_long_once_is_not_long_for_ever(void **state)
{
        uint64_t what = name();

        learn(what, 5 * MS);
        assert_true(cost_doubt(what) != 0);
        for (unsigned i = 0; i < 40; i++)
                learn(what, 20 * US);
        assert_true(cost_doubt(what) == 0);
}

static void what_becomes_long_is_in_doubt_again(void **state)
{
        uint64_t what = name();

        learn(what, 20 * US);
        learn(what, 20 * MS);
        assert_true(cost_doubt(what) != 0);
}

static void launches_that_are_to_be_measured_are_counted(void **state)
{
        uint64_t what = name();
        uint32_t age = cost_begin(what);

        cost_begin(what);
        cost_end(what, age);
        assert_int_equal(cost_of(what).pending, 1);
        cost_learn(what, age, 20 * US, false);
        cost_end(what, age);
        cost_end(what, age);
        assert_int_equal(cost_of(what).pending, 0);
}

/* The later of two on one place is known, the other one in doubt; never the wrong one's cost. */
static void two_on_one_place_are_told_apart(void **state)
{
        uint64_t first = name(), other = first;

        do
                other += 64;
        while (cost_place(other, COST_SHORT_BITS) != cost_place(first, COST_SHORT_BITS));
        learn(first, 20 * US);
        learn(other, 30 * US);
        assert_true(cost_doubt(other) == 0);
        assert_true(cost_doubt(first) != 0);
        assert_int_equal(cost_of(other).estimate.mean_ns, 30 * US);
        assert_int_equal(cost_of(first).estimate.samples, 0);
        cost_trust(first);
        assert_true(cost_doubt(first) == 0 && cost_doubt(other) != 0);
}

/* Its handle may be another kernel's, which takes what it takes. */
static void nothing_is_known_of_who_bears_the_handle_of_what_was_unloaded(void **state)
{
        uint64_t what = name();

        learn(what, 20 * US);
        cost_forget();
        assert_true(cost_doubt(what) != 0);
        assert_int_equal(cost_of(what).estimate.samples, 0);
        learn(what, 20 * MS);
        assert_true(cost_doubt(what) != 0);
}

/* A program unloads what has ended; that it has is often seen only afterwards. */
static void what_is_measured_after_it_was_unloaded_teaches_nothing(void **state)
{
        uint64_t what = name();
        uint32_t before = cost_begin(what), after;

        cost_forget();
        after = cost_begin(what);
        cost_learn(what, before, 20 * US, false);
        cost_end(what, before);
        assert_true(cost_doubt(what) != 0);
        assert_int_equal(cost_of(what).estimate.samples, 0);
        assert_int_equal(cost_of(what).pending, 1);
        cost_end(what, after);
}

/* Slices of others make it look longer; but what is longer every time is longer. */
static void what_ran_beside_others_teaches_nothing_but_that_it_is_shorter(void **state)
{
        uint64_t what = name();
        uint32_t age;

        for (unsigned i = 0; i < 8; i++)
                learn(what, 500 * US);
        age = cost_begin(what);
        for (unsigned i = 0; i < ESTIMATE_DOUBTS; i++)
                cost_learn(what, age, 2500 * US, true);
        assert_int_equal(cost_of(what).estimate.mean_ns, 500 * US);
        cost_learn(what, age, 400 * US, true);
        assert_int_equal(cost_of(what).estimate.mean_ns, 500 * US - 100 * US / 8);
        for (unsigned i = 0; i < 10 * ESTIMATE_DOUBTS; i++)
                cost_learn(what, age, 2500 * US, true);
        assert_true(cost_of(what).estimate.mean_ns > 2400 * US);
        cost_end(what, age);
}

static void a_forked_child_knows_nothing(void **state)
{
        uint64_t what = name();
        int status;
        pid_t child;

        if (!a_child_is_wiped())
                skip();
        learn(what, 20 * US);
        child = fork();
        if (child == 0)
                _exit(cost_doubt(what) != 0 && cost_of(what).estimate.samples == 0 ? 0 : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_true(cost_doubt(what) == 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_was_never_measured_is_in_doubt),
                cmocka_unit_test(fills_and_copies_have_no_name_and_are_not),
                cmocka_unit_test(what_is_long_is_in_doubt_however_well_it_is_known),
                cmocka_unit_test(what_was_long_once_is_not_long_for_ever),
                cmocka_unit_test(what_becomes_long_is_in_doubt_again),
                cmocka_unit_test(launches_that_are_to_be_measured_are_counted),
                cmocka_unit_test(two_on_one_place_are_told_apart),
                cmocka_unit_test(nothing_is_known_of_who_bears_the_handle_of_what_was_unloaded),
                cmocka_unit_test(what_is_measured_after_it_was_unloaded_teaches_nothing),
                cmocka_unit_test(what_ran_beside_others_teaches_nothing_but_that_it_is_shorter),
                cmocka_unit_test(a_forked_child_knows_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
