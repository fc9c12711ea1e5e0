/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that take long, and for how long they are waited for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_stage.h"

/* What is beside it is slowed down, and neither can be measured by itself. */
static void who_says_when_it_is_done_is_waited_for_longer(void **state)
{
        play_sched("add a\n"
                   "  free a\n"
                   "add b\n"
                   "want a\n"
                   "want b\n"
                   "  open a until 2ms\n"
                   "to 2ms\n"
                   "  2ms: close a\n"
                   "residual a 250ms\n"
                   "next\n"
                   "  251950us\n"
                   "to 252ms\n"
                   "  251950000ns: open b until 253950us\n");
}

static void who_is_done_too_late_is_waited_for_no_longer_than_others(void **state)
{
        play_sched("add a\n"
                   "  free a\n"
                   "add b\n"
                   "want a\n"
                   "want b\n"
                   "  open a until 2ms\n"
                   "to 2ms\n"
                   "  2ms: close a\n"
                   "residual a 251ms\n"
                   "next\n"
                   "  52ms\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_says_when_it_is_done_is_waited_for_longer),
                cmocka_unit_test(who_is_done_too_late_is_waited_for_no_longer_than_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
