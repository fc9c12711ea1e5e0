/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "daemon/base/descriptors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define ANY 1000000u

static void limit_to(rlim_t soft)
{
        struct rlimit limit;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A session's socket and limits, besides its slots, a visit's socket and process: two descriptors
 * each. */
static void all_kinds_together_leave_the_daemon_its_own(void **state)
{
        static const rlim_t limits[] = { 48, 64, 100, 1024 };

        for (unsigned i = 0; i < 4; i++) {
                unsigned taken;

                limit_to(limits[i]);
                taken = descriptors_max(ANY, DESCRIPTORS_HTTP) +
                        2 * descriptors_max(ANY, DESCRIPTORS_VISITS) +
                        2 * descriptors_max(ANY, DESCRIPTORS_DOORS) +
                        2 * descriptors_max(ANY, DESCRIPTORS_SESSIONS) +
                        descriptors_max(ANY, DESCRIPTORS_SEATS) +
                        descriptors_max(ANY, DESCRIPTORS_SWAPS) +
                        descriptors_max(ANY, DESCRIPTORS_RESIDENTS) +
                        descriptors_max(ANY, DESCRIPTORS_GPU_USERS);
                assert_true(taken + DESCRIPTORS_KEPT <= limits[i]);
        }
}

static void a_kind_has_no_more_than_is_allowed_and_at_least_one(void **state)
{
        limit_to(1024);
        assert_int_equal(descriptors_max(3, DESCRIPTORS_HTTP), 3);
        limit_to(16);
        assert_int_equal(descriptors_max(3, DESCRIPTORS_HTTP), 1);
}

static void the_soft_limit_is_raised_to_the_hard_one(void **state)
{
        struct rlimit limit;

        limit_to(64);
        descriptors_raise();
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_true(limit.rlim_cur == limit.rlim_max || limit.rlim_cur >= 65536);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_kinds_together_leave_the_daemon_its_own),
                cmocka_unit_test(a_kind_has_no_more_than_is_allowed_and_at_least_one),
                cmocka_unit_test(the_soft_limit_is_raised_to_the_hard_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
