/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of an action that fails: of the database, and of what others see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessions_stage.h"

static void a_creation_that_can_not_be_saved_never_was(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "crash 0\n"
             "tick\n"
             "  yes\n"
             "tick\n"
             "  yes, one: make(A=4G) limit(A=4G)\n"
             "only 0\n"
             "create two A=4G\n"
             "  yes, two: save tell(created) make(A=4G)\n"
             "fail two unsaved\n"
             "  yes\n"
             "show two\n"
             "  no such session\n"
             "room A\n"
             "  promised 4G, room 12G\n"
             "fail two unsaved\n"
             "  unknown name\n");
}

static void a_creation_that_can_not_be_made_is_taken_back(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "only 2\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "fail one\n"
             "  yes, one: remove forget tell(gone)\n"
             "show one\n"
             "  no such session\n"
             "room A\n"
             "  promised 0G, room 16G\n");
}

static void what_can_not_be_taken_back_ends(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "only 2\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "only 1\n"
             "fail one\n"
             "  yes, one: remove forget tell(gone)\n"
             "fail one unsaved\n"
             "  yes\n"
             "show one\n"
             "  ending uid 1000 v1 A=4G weight 100 priority 1 on-end deny-new\n"
             "next\n"
             "  1001\n");
}

static void a_change_that_can_not_be_saved_never_was(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G ttl=60\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "only 0\n"
             "change one A=2G ttl=90\n"
             "  yes, one: save tell(changed) limit(A=2G)\n"
             "fail one unsaved\n"
             "  yes\n"
             "show one\n"
             "  open uid 1000 v1 A=4G weight 100 priority 1 on-end deny-new ttl 60 until 1060\n"
             "at 1001\n"
             "tick\n"
             "  yes, one: make(A=4G) limit(A=4G)\n"
             "next\n"
             "  1060\n"
             "change one A=3G version=1\n"
             "  yes, one: save tell(changed) limit(A=3G)\n");
}

static void a_limit_that_can_not_be_written_is_tried_again(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "only 2\n"
             "change one A=2G\n"
             "  yes, one: save tell(changed) limit(A=2G)\n"
             "fail one\n"
             "  yes\n"
             "show one\n"
             "  open uid 1000 v2 A=2G weight 100 priority 1 on-end deny-new\n"
             "tick\n"
             "  yes\n"
             "next\n"
             "  1001\n"
             "at 1001\n"
             "only 0\n"
             "tick\n"
             "  yes, one: make(A=2G) limit(A=2G)\n"
             "fail one\n"
             "  yes\n"
             "next\n"
             "  1002\n"
             "at 1002\n"
             "tick\n"
             "  yes, one: make(A=2G) limit(A=2G)\n"
             "next\n"
             "  nothing is due\n");
}

static void an_end_that_can_not_be_saved_comes_all_the_same(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G ttl=60\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "at 1060\n"
             "only 0\n"
             "tick\n"
             "  yes, one: save tell(expired) shut\n"
             "fail one unsaved\n"
             "  yes, one: shut\n"
             "show one\n"
             "  ending uid 1000 v2 A=4G weight 100 priority 1 on-end deny-new ttl 60 until 1060 "
             "ended 1060\n"
             "next\n"
             "  nothing is due\n"
             "crash 0\n"
             "tick\n"
             "  yes\n"
             "tick\n"
             "  yes, one: make(A=4G) limit(A=4G), more\n"
             "tick\n"
             "  yes, one: save tell(expired) shut\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n");
}

static void a_kill_that_can_not_be_saved_comes_all_the_same(void **state)
{
        play("policy strict grace=30\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G ttl=60 end=term\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "run one stubborn\n"
             "at 1060\n"
             "only 0\n"
             "tick\n"
             "  yes, one: save tell(expired) tell(terminated) shut sigterm\n"
             "fail one unsaved\n"
             "  yes, one: shut sigterm\n"
             "next\n"
             "  1090\n"
             "at 1090\n"
             "only 0\n"
             "tick\n"
             "  yes, one: save tell(killed) shut sigkill\n"
             "fail one unsaved\n"
             "  yes, one: shut sigkill\n"
             "next\n"
             "  1091\n");
}

static void a_release_that_can_not_be_saved_is_none(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G end=kill\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "only 0\n"
             "release one force\n"
             "  yes, one: save tell(released) tell(killed) shut sigkill\n"
             "fail one unsaved\n"
             "  yes\n"
             "show one\n"
             "  open uid 1000 v1 A=4G weight 100 priority 1 on-end kill\n"
             "next\n"
             "  1001\n");
}

static void what_can_not_be_forgotten_is_forgotten_later(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "create two A=4G\n"
             "  yes, two: save tell(created) make(A=4G)\n"
             "release two\n"
             "  yes, two: save tell(released) shut\n"
             "only 1\n"
             "empty two\n"
             "  yes, two: remove forget tell(gone)\n"
             "fail two unsaved\n"
             "  yes\n"
             "show two\n"
             "  ending uid 1000 v2 A=4G weight 100 priority 1 on-end deny-new ended 1000\n"
             "room A\n"
             "  promised 8G, room 8G\n"
             "at 1001\n"
             "tick\n"
             "  yes, two: shut\n"
             "only 0\n"
             "empty two\n"
             "  yes, two: remove forget tell(gone)\n"
             "fail two\n"
             "  yes\n"
             "show two\n"
             "  ending uid 1000 v2 A=4G weight 100 priority 1 on-end deny-new ended 1000\n"
             "next\n"
             "  1002\n");
}

static void a_failure_is_of_the_step_before_and_of_no_other(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "create two A=4G\n"
             "  yes, two: save tell(created) make(A=4G)\n"
             "fail one unsaved\n"
             "  yes\n"
             "show one\n"
             "  open uid 1000 v1 A=4G weight 100 priority 1 on-end deny-new\n"
             "show two\n"
             "  open uid 1000 v1 A=4G weight 100 priority 1 on-end deny-new\n"
             "next\n"
             "  1001\n"
             "fail two unsaved\n"
             "  yes\n"
             "show two\n"
             "  open uid 1000 v1 A=4G weight 100 priority 1 on-end deny-new\n"
             "fail three\n"
             "  unknown name\n");
}

static void what_is_owed_does_not_wait_for_a_clock_that_went_back(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "only 2\n"
             "change one A=2G\n"
             "  yes, one: save tell(changed) limit(A=2G)\n"
             "fail one\n"
             "  yes\n"
             "at 999\n"
             "tick\n"
             "  yes, one: make(A=2G) limit(A=2G)\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_creation_that_can_not_be_saved_never_was),
                cmocka_unit_test(a_creation_that_can_not_be_made_is_taken_back),
                cmocka_unit_test(what_can_not_be_taken_back_ends),
                cmocka_unit_test(a_change_that_can_not_be_saved_never_was),
                cmocka_unit_test(a_limit_that_can_not_be_written_is_tried_again),
                cmocka_unit_test(an_end_that_can_not_be_saved_comes_all_the_same),
                cmocka_unit_test(a_kill_that_can_not_be_saved_comes_all_the_same),
                cmocka_unit_test(a_release_that_can_not_be_saved_is_none),
                cmocka_unit_test(what_can_not_be_forgotten_is_forgotten_later),
                cmocka_unit_test(a_failure_is_of_the_step_before_and_of_no_other),
                cmocka_unit_test(what_is_owed_does_not_wait_for_a_clock_that_went_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
