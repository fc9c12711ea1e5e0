/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session's pages say of its time on a GPU, as `aliquot top` reads them.
 */
#include "cli/top/source_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/clock.h"

#define SECOND_NS INT64_C(1000000000)
#define HALF_PPM (PAGE_WHOLE_PPM / 2)

static struct limits_page limits;
static struct slots_page slots;

static struct snapshot_time time_with_bucket(int64_t bucket_ns)
{
        const struct store_session session = { .limits = &limits, .slots = &slots };
        struct snapshot_time time;

        limits.device[1].cap_ppm = HALF_PPM;
        slots.meter[1].bucket_ns = (uint64_t)bucket_ns;
        slots.meter[1].filled_at_ns = clock_now_ns();
        source_time_read(&session, 1, &time);
        return time;
}

/* A kernel of minutes is owed for minutes. What the cap gave since the bucket was filled is paid.
 */
static void a_debt_is_told_whole(void **state)
{
        uint64_t debt_ns = time_with_bucket(-100 * SECOND_NS).debt_ns;

        assert_in_range(debt_ns, 40 * SECOND_NS, 100 * SECOND_NS);
        assert_int_equal(time_with_bucket(SECOND_NS).debt_ns, 0);
}

/* More than any bucket owes is a scribble, and no sum overflows of it. */
static void no_page_owes_more_than_a_bucket_can(void **state)
{
        assert_in_range(time_with_bucket(INT64_MIN).debt_ns, 1, INT64_C(1) << 43);
}

int main(void)
{
        static const struct CMUnitTest stories[] = {
                cmocka_unit_test(a_debt_is_told_whole),
                cmocka_unit_test(no_page_owes_more_than_a_bucket_can),
        };

        return cmocka_run_group_tests(stories, NULL, NULL);
}
