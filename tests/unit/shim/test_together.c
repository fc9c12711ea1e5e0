/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of a session open together, and let each other's waits end; what is not used, has no
 * cap or is far in debt changes nothing.
 */
#include "shim/time/together.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/time/bucket.h"

#define MS UINT64_C(1000000)
#define START (UINT64_C(100000) * MS)
#define CAP_PPM 200000u
#define TOP_NS (BUCKET_PERIOD_NS / 5)

static struct limits_page limits;
static struct slots_page slots;
static struct account account[2];
static uint64_t now_ns;

static void set_level(unsigned device, int64_t level_ns)
{
        slots.meter[device].bucket_ns = (uint64_t)level_ns;
        slots.meter[device].filled_at_ns = now_ns;
}

static int two_devices_in_use(void **state)
{
        now_ns = START;
        limits = (struct limits_page){ 0 };
        slots.slots_high = 2;
        for (unsigned i = 0; i < 2; i++) {
                limits.device[i] = (struct limits_device){ .cap_ppm = CAP_PPM };
                slots.row[0][i] = slots.row[1][i] = (struct page_row){ 0 };
                set_level(i, TOP_NS);
                account[i] = (struct account){ .limits = &limits,
                                               .device = &limits.device[i],
                                               .slots = &slots,
                                               .meter = &slots.meter[i],
                                               .row = &slots.row[i][i],
                                               .at = i };
                account_stand(&account[i], now_ns);
        }
        return 0;
}

static struct together look(void)
{
        return together_look(&account[0], now_ns);
}

static bool may_pass(uint64_t ended_ns)
{
        struct terms terms = account_terms(&account[0], now_ns);

        return together_may_pass(&account[0], &terms, ended_ns, now_ns);
}

static void who_waits_there_is_waited_for_until_half_its_bucket_is_full(void **state)
{
        struct terms terms = account_terms(&account[0], now_ns);
        struct together others = look();

        assert_true(others.is_used && others.is_ready);
        assert_int_equal(together_opening_ns(&others, &terms), TOP_NS / 2);
        set_level(1, TOP_NS / 2 - 1);
        assert_false(look().is_ready);
        set_level(1, -(int64_t)(100 * MS));
        others = look();
        assert_false(others.is_ready);
        assert_int_equal(others.due_ns, now_ns + 5 * (100 * MS + TOP_NS / 2));
}

static void a_device_that_is_used_no_more_is_not_waited_for(void **state)
{
        struct terms terms = account_terms(&account[0], now_ns);
        struct together others;

        set_level(1, -(int64_t)(100 * MS));
        now_ns += 199 * MS;
        assert_false(look().is_ready);
        now_ns += 2 * MS;
        others = look();
        assert_true(others.is_ready && !others.is_used);
        assert_int_equal(together_opening_ns(&others, &terms), account_opening_ns(&terms));
}

static void a_device_without_a_cap_is_not_waited_for(void **state)
{
        set_level(1, -(int64_t)(100 * MS));
        limits.device[1].cap_ppm = 0;
        assert_true(look().is_ready);
}

static void one_submission_passes_for_each_look_at_what_may_wait_for_it(void **state)
{
        set_level(0, -1);
        assert_false(may_pass(0));
        account_begin(&account[1], now_ns);
        assert_true(may_pass(now_ns - 1));
        assert_false(may_pass(now_ns));
        now_ns += MS;
        assert_false(may_pass(START));
        account_settle(&account[1], START, now_ns);
        assert_true(may_pass(START));
        account_end(&account[1], 0, 0, now_ns);
        assert_false(may_pass(START));
}

static void nothing_passes_beside_own_work_nor_far_in_debt(void **state)
{
        account_begin(&account[1], now_ns);
        account[0].row = &slots.row[1][0];
        account_begin(&account[0], now_ns);
        assert_false(may_pass(now_ns - 1));
        account_end(&account[0], 0, 0, now_ns);
        set_level(0, -TOGETHER_DEBT_NS);
        assert_false(may_pass(now_ns - 1));
        set_level(0, -TOGETHER_DEBT_NS + 1);
        assert_true(may_pass(now_ns - 1));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(who_waits_there_is_waited_for_until_half_its_bucket_is_full,
                                       two_devices_in_use),
                cmocka_unit_test_setup(a_device_that_is_used_no_more_is_not_waited_for,
                                       two_devices_in_use),
                cmocka_unit_test_setup(a_device_without_a_cap_is_not_waited_for,
                                       two_devices_in_use),
                cmocka_unit_test_setup(one_submission_passes_for_each_look_at_what_may_wait_for_it,
                                       two_devices_in_use),
                cmocka_unit_test_setup(nothing_passes_beside_own_work_nor_far_in_debt,
                                       two_devices_in_use),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
