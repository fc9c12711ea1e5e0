/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the scheduler's thread each owner of sessions may take. */
#include "daemon/schedule/owners.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct owners *owners;
static unsigned one, other;

static int begin(void **state)
{
        owners = calloc(1, sizeof(*owners));
        one = owners_join(owners, 1001, MS);
        other = owners_join(owners, 1002, MS);
        return one == other;
}

static int end(void **state)
{
        free(owners);
        return 0;
}

static void who_takes_more_than_its_part_is_not_heard_until_it_is_paid(void **state)
{
        assert_true(owners_may(owners, one, MS));
        owners_charge(owners, one, (uint64_t)OWNER_BURST_NS + 10 * MS, MS);
        assert_false(owners_may(owners, one, MS));
        assert_false(owners_may(owners, one, MS + 10 * MS * OWNER_PART - OWNER_PART));
        assert_true(owners_may(owners, one, MS + 10 * MS * OWNER_PART));
        assert_true(owners_may(owners, other, MS));
}

static void a_long_rest_saves_no_more_than_a_burst(void **state)
{
        uint64_t now_ns = 1000000 * MS;

        owners_charge(owners, one, (uint64_t)OWNER_BURST_NS + 1, now_ns);
        assert_false(owners_may(owners, one, now_ns));
}

static void a_pass_is_paid_by_those_it_was_for(void **state)
{
        uint64_t burst_ns = (uint64_t)OWNER_BURST_NS;

        owners_pay(owners, 100 * burst_ns, MS); /* of nobody: of time that was due */
        assert_true(owners_may(owners, one, MS) && owners_may(owners, other, MS));
        for (unsigned i = 0; i < 9; i++)
                owners_cause(owners, one);
        owners_cause(owners, other);
        owners_pay(owners, 5 * burst_ns, MS);
        assert_false(owners_may(owners, one, MS));
        assert_true(owners_may(owners, other, MS));
        owners_pay(owners, 100 * burst_ns, MS); /* the next pass was for nobody again */
        assert_true(owners_may(owners, other, MS));
}

static void who_goes_and_comes_back_owes_what_it_owed(void **state)
{
        owners_charge(owners, one, 2 * (uint64_t)OWNER_BURST_NS, MS);
        owners_leave(owners, one);
        assert_int_equal(owners_join(owners, 1001, MS), one);
        assert_false(owners_may(owners, one, MS));
}

static void who_is_distrusted_is_so_for_good(void **state)
{
        assert_true(owners_distrust(owners, one));
        assert_false(owners_distrust(owners, one));
        owners_leave(owners, one);
        assert_int_not_equal(owners_join(owners, 1003, MS), one); /* its entry is kept */
        one = owners_join(owners, 1001, MS);
        assert_true(owners->owner[one].is_distrusted);
        assert_false(owners->owner[other].is_distrusted);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                        who_takes_more_than_its_part_is_not_heard_until_it_is_paid, begin, end),
                cmocka_unit_test_setup_teardown(a_long_rest_saves_no_more_than_a_burst, begin, end),
                cmocka_unit_test_setup_teardown(a_pass_is_paid_by_those_it_was_for, begin, end),
                cmocka_unit_test_setup_teardown(who_goes_and_comes_back_owes_what_it_owed, begin,
                                                end),
                cmocka_unit_test_setup_teardown(who_is_distrusted_is_so_for_good, begin, end),
        };

        return cmocka_run_group_tests_name("owners", tests, NULL, NULL);
}
