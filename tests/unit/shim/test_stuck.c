/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits at the gate while nothing ends is let through after some time; whoever makes that a way
 * around its cap waits for ever longer.
 */
#include "shim/time/stuck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)

static uint64_t until_let_out(struct stuck *stuck, uint64_t now_ns)
{
        uint64_t began_ns = now_ns;

        while (!stuck_for_long(stuck, began_ns, now_ns))
                now_ns += MS;
        return now_ns - began_ns;
}

static void what_waits_for_a_submission_has_it_and_soon_the_next_time(void **state)
{
        struct stuck stuck = { 0 };
        uint64_t now_ns = 1000 * MS, waited_ns = until_let_out(&stuck, now_ns);

        assert_in_range(waited_ns, 50 * MS, 101 * MS);
        for (unsigned i = 0; i < 10; i++) {
                now_ns += waited_ns + MS;
                stuck_not(&stuck, now_ns);
                waited_ns = until_let_out(&stuck, now_ns);
        }
        assert_in_range(waited_ns, 20 * MS, 41 * MS);
}

/* A kernel that spins for forty launches beside it. */
static void what_runs_beside_it_is_let_through_in_ever_more(void **state)
{
        struct stuck stuck = { 0 };
        uint64_t began_ns = 1000 * MS, now_ns = began_ns;

        for (unsigned through = 0; through < 40; through++) {
                while (!stuck_for_long(&stuck, began_ns, now_ns))
                        now_ns += MS;
                if (stuck_is_open(&stuck))
                        stuck_ran(&stuck, now_ns + MS);
        }
        assert_in_range(now_ns - began_ns, 6 * 50 * MS, 6 * 101 * MS);
}

/* It ran beside a long kernel, but for long itself. */
static void what_takes_long_itself_is_let_through_by_ones(void **state)
{
        struct stuck stuck = { 0 };
        uint64_t began_ns = 1000 * MS, now_ns = began_ns;

        for (unsigned through = 0; through < 6; through++) {
                while (!stuck_for_long(&stuck, began_ns, now_ns))
                        now_ns += MS;
                assert_true(stuck_is_open(&stuck));
                stuck_ran(&stuck, now_ns + stuck.patience_ns / 2);
                assert_true(stuck_is_open(&stuck));
        }
        assert_true(now_ns - began_ns > 50 * 60 * MS);
}

/* Ten minutes of kernels, of which the gate would let none through while one runs. */
static void long_kernels_gain_a_few(void **state)
{
        static const uint64_t lengths_ns[] = { 60 * MS, 110 * MS, 300 * MS, 1000 * MS, 3000 * MS };

        for (unsigned i = 0; i < sizeof(lengths_ns) / sizeof(lengths_ns[0]); i++) {
                struct stuck stuck = { 0 };
                unsigned gained = 0;

                for (uint64_t now_ns = 1000 * MS; now_ns < 601000 * MS; now_ns += MS) {
                        uint64_t began_ns = now_ns / lengths_ns[i] * lengths_ns[i];

                        if (now_ns == began_ns)
                                stuck_not(&stuck, now_ns);
                        gained += stuck_for_long(&stuck, began_ns, now_ns);
                }
                assert_in_range(gained, 0, 600000 * MS / 50 / lengths_ns[i] + 10);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_waits_for_a_submission_has_it_and_soon_the_next_time),
                cmocka_unit_test(what_runs_beside_it_is_let_through_in_ever_more),
                cmocka_unit_test(what_takes_long_itself_is_let_through_by_ones),
                cmocka_unit_test(long_kernels_gain_a_few),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
