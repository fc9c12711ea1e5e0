/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credit without end is for who has no cap anywhere: on no device, of those to come either.
 */
#include "shim/cuda/credits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define HALF (PAGE_WHOLE_PPM / 2)
#define STREAM 7
#define ANOTHER_STREAM 8

static struct limits_page limits;

static int nothing_is_capped(void **state)
{
        limits = (struct limits_page){ 0 };
        return 0;
}

/* As a launch does that found its own device without a cap. */
static void open_credit(void)
{
        const struct admit admit = { .limits = &limits, .device = &limits.device[0] };
        const struct passage passage = { .key = STREAM, .gate_seen = credit_gate_seen(&limits) };

        credit_open(&passage, &admit);
}

static void without_a_cap_it_is_good_for_any_stream_of_any_device(void **state)
{
        limits.device[3].cap_ppm = PAGE_WHOLE_PPM;
        open_credit();
        assert_true(credit_spend(&credit_here, STREAM, 0));
        assert_true(credit_spend(&credit_here, ANOTHER_STREAM, 0));
}

static void beside_a_capped_device_it_is_good_for_its_own_stream(void **state)
{
        limits.device[3].cap_ppm = HALF;
        open_credit();
        assert_true(credit_spend(&credit_here, STREAM, 0));
        assert_false(credit_spend(&credit_here, ANOTHER_STREAM, 0));
}

/* A GPU that shows up later has the default's cap, and nobody tells of it. */
static void a_device_that_is_yet_to_come_may_be_capped(void **state)
{
        limits.device[0].cap_ppm = PAGE_WHOLE_PPM;
        limits.default_cap_ppm = HALF;
        open_credit();
        assert_true(credit_spend(&credit_here, STREAM, 0));
        assert_false(credit_spend(&credit_here, ANOTHER_STREAM, 0));
}

static void any_change_of_the_limits_ends_it(void **state)
{
        open_credit();
        limits.epoch++;
        assert_false(credit_spend(&credit_here, STREAM, 0));
}

static void a_scheduler_that_comes_ends_it(void **state)
{
        open_credit();
        limits.scheduler_at_ns = 1;
        assert_false(credit_spend(&credit_here, STREAM, 0));
}

/* What it was granted ended the credit, and nothing that the program did. */
static void a_credit_that_is_spent_says_so(void **state)
{
        struct lane lane = { 0 };
        struct credit credit = {
                .left = 1, .granted = 1, .stream = STREAM, .lane = (uintptr_t)&lane
        };
        struct credit stopped = credit;
        const _Atomic uint64_t gate = 0;
        const _Atomic uint32_t turn = 0;

        credit.gate = &gate;
        credit.turn = &turn;
        assert_int_equal(credit_drawn(&credit), 0);
        assert_true(credit_spend(&credit, STREAM, 0));
        assert_int_equal(credit_drawn(&credit), (uintptr_t)&lane);
        credit_stop(&stopped);
        assert_int_equal(credit_drawn(&stopped), 0);
}

#define RULE(rule) cmocka_unit_test_setup(rule, nothing_is_capped)

int main(void)
{
        const struct CMUnitTest tests[] = {
                RULE(without_a_cap_it_is_good_for_any_stream_of_any_device),
                RULE(beside_a_capped_device_it_is_good_for_its_own_stream),
                RULE(a_device_that_is_yet_to_come_may_be_capped),
                RULE(any_change_of_the_limits_ends_it),
                RULE(a_scheduler_that_comes_ends_it),
                RULE(a_credit_that_is_spent_says_so),
        };

        return cmocka_run_group_tests_name("credits", tests, NULL, NULL);
}
