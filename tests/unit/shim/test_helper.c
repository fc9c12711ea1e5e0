/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper thread: nothing that it is told of is left lying, at whichever moment it is told.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "shim/helper.h"

#define PATIENCE_NS UINT64_C(20000000000) /* a bound on hangs */

static _Atomic uint32_t runs;

/* There is more to do as soon as its first run has passed it by. */
static uint64_t task(uint64_t now_ns)
{
        if (load_relaxed(&runs) == 0)
                helper_kick(task);
        add_acq_rel(&runs, 1);
        clock_wake(&runs, 1);
        (void)now_ns;
        return CLOCK_NEVER;
}

static void wait_for_runs(uint32_t wanted)
{
        uint64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
        uint32_t seen;

        while ((seen = load_acquire(&runs)) < wanted) {
                if (!clock_wait(&runs, seen, deadline_ns))
                        fail_msg("it ran %u times of %u", seen, wanted);
        }
}

static void who_kicks_while_it_works_is_heard(void **state)
{
        assert_true(helper_kick(task));
        wait_for_runs(2);
}

static void who_kicks_while_it_sleeps_is_heard(void **state)
{
        uint32_t seen = load_acquire(&runs);

        assert_true(helper_kick(task));
        wait_for_runs(seen + 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_kicks_while_it_works_is_heard),
                cmocka_unit_test(who_kicks_while_it_sleeps_is_heard),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
