/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a crash leaves: whatever was saved comes to be, whatever was not never was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessions_stage.h"

static void a_session_that_was_saved_is_made(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "crash 1\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "show one\n"
             "  open uid 1000 v1 A=4G weight 100 priority 1 on-end deny-new\n"
             "room A\n"
             "  promised 4G, room 12G\n"
             "next\n"
             "  now\n"
             "tick\n"
             "  yes, one: make(A=4G) limit(A=4G)\n"
             "next\n"
             "  nothing is due\n");
}

static void a_session_that_was_not_saved_never_was(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "crash 0\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "show one\n"
             "  no such session\n"
             "room A\n"
             "  promised 0G, room 16G\n"
             "tick\n"
             "  yes\n"
             "create one A=16G\n"
             "  yes, one: save tell(created) make(A=16G)\n");
}

/* And what was given back of it stays so. */
static void what_a_lowered_limit_counts_for_outlives_a_crash(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=12G\n"
             "  yes, one: save tell(created) make(A=12G)\n"
             "crash 1\n"
             "change one A=1G\n"
             "  yes, one: save tell(changed) limit(A=1G)\n"
             "room A\n"
             "  promised 12G, room 4G\n"
             "crash 1\n"
             "held one A=10G\n"
             "  yes, one: save\n"
             "room A\n"
             "  promised 10G, room 6G\n"
             "crash 0\n"
             "held one A=0G\n"
             "  yes, one: save\n"
             "room A\n"
             "  promised 10G, room 6G\n");
}

static void a_change_that_was_saved_reaches_the_page(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G ttl=60\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "crash 2\n"
             "change one A=2G\n"
             "  yes, one: save tell(changed) limit(A=2G)\n"
             "tick\n"
             "  yes, one: make(A=2G) limit(A=2G)\n"
             "show one\n"
             "  open uid 1000 v2 A=2G weight 100 priority 1 on-end deny-new ttl 60 until 1060\n"
             "next\n"
             "  1060\n");
}

static void a_change_that_was_not_saved_never_was(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "crash 0\n"
             "change one A=2G\n"
             "  yes, one: save tell(changed) limit(A=2G)\n"
             "show one\n"
             "  open uid 1000 v1 A=4G weight 100 priority 1 on-end deny-new\n"
             "change one A=3G version=1\n"
             "  yes, one: save tell(changed) limit(A=3G)\n");
}

static void an_ending_that_was_saved_goes_on(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G ttl=60\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "at 1060\n"
             "crash 1\n"
             "tick\n"
             "  yes, one: save tell(expired) shut\n"
             "show one\n"
             "  ending uid 1000 v2 A=4G weight 100 priority 1 on-end deny-new ttl 60 until 1060 "
             "ended 1060\n"
             "tick\n"
             "  yes, one: shut\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "show one\n"
             "  no such session\n");
}

static void an_ending_that_was_not_saved_comes_again(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G ttl=60\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "at 1060\n"
             "crash 0\n"
             "tick\n"
             "  yes, one: save tell(expired) shut\n"
             "show one\n"
             "  open uid 1000 v1 A=4G weight 100 priority 1 on-end deny-new ttl 60 until 1060\n"
             "tick\n"
             "  yes, one: make(A=4G) limit(A=4G), more\n"
             "tick\n"
             "  yes, one: save tell(expired) shut\n"
             "tick\n"
             "  yes\n");
}

static void the_grace_period_begins_with_the_sigterm_that_is_said_again(void **state)
{
        play("policy strict grace=30\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G end=term\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "run one\n"
             "crash 4\n"
             "release one force\n"
             "  yes, one: save tell(released) tell(terminated) shut sigterm\n"
             "at 2000\n"
             "tick\n"
             "  yes, one: shut sigterm\n"
             "next\n"
             "  2030\n"
             "at 2030\n"
             "tick\n"
             "  yes, one: save tell(killed) shut sigkill\n");
}

static void killing_goes_on(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G end=kill\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "run one\n"
             "crash 4\n"
             "release one force\n"
             "  yes, one: save tell(released) tell(killed) shut sigkill\n"
             "tick\n"
             "  yes, one: shut sigkill\n"
             "next\n"
             "  1001\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n");
}

static void a_row_whose_folder_is_gone_goes_too(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "release one\n"
             "  yes, one: save tell(released) shut\n"
             "crash 1\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "show one\n"
             "  ending uid 1000 v2 A=4G weight 100 priority 1 on-end deny-new ended 1000\n"
             "tick\n"
             "  yes, one: shut\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "show one\n"
             "  no such session\n");
}

static void all_that_was_restored_gets_its_turn(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G ttl=60\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "create two A=4G\n"
             "  yes, two: save tell(created) make(A=4G)\n"
             "create three A=4G\n"
             "  yes, three: save tell(created) make(A=4G)\n"
             "release two\n"
             "  yes, two: save tell(released) shut\n"
             "at 1060\n"
             "crash 0\n"
             "tick\n"
             "  yes, one: save tell(expired) shut\n"
             "tick\n"
             "  yes, one: make(A=4G) limit(A=4G), more\n"
             "tick\n"
             "  yes, two: shut, more\n"
             "tick\n"
             "  yes, three: make(A=4G) limit(A=4G), more\n"
             "tick\n"
             "  yes, one: save tell(expired) shut\n"
             "tick\n"
             "  yes\n");
}

static void what_was_restored_counts_before_its_gpu_is_here(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=10G\n"
             "  yes, one: save tell(created) make(A=10G)\n"
             "gone A\n"
             "  yes tell(gpu-gone)\n"
             "crash 0\n"
             "tick\n"
             "  yes\n"
             "tick\n"
             "  yes, one: make(A=10G) limit(A=10G)\n"
             "room A\n"
             "  promised 10G, room 0G\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "room A\n"
             "  promised 10G, room 6G\n"
             "create two A=7G\n"
             "  no-room memory: A wants 7G, free 6G\n");
}

static void what_was_restored_can_be_asked_for_before_its_turn(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G ttl=60\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "create two A=4G end=kill\n"
             "  yes, two: save tell(created) make(A=4G)\n"
             "crash 0\n"
             "tick\n"
             "  yes\n"
             "change one A=5G\n"
             "  yes, one: save tell(changed) limit(A=5G)\n"
             "next\n"
             "  now\n"
             "release two force\n"
             "  yes, two: save tell(released) tell(killed) shut sigkill\n"
             "tick\n"
             "  yes, one: make(A=5G) limit(A=5G)\n"
             "next\n"
             "  1001\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_session_that_was_saved_is_made),
                cmocka_unit_test(a_session_that_was_not_saved_never_was),
                cmocka_unit_test(what_a_lowered_limit_counts_for_outlives_a_crash),
                cmocka_unit_test(a_change_that_was_saved_reaches_the_page),
                cmocka_unit_test(a_change_that_was_not_saved_never_was),
                cmocka_unit_test(an_ending_that_was_saved_goes_on),
                cmocka_unit_test(an_ending_that_was_not_saved_comes_again),
                cmocka_unit_test(the_grace_period_begins_with_the_sigterm_that_is_said_again),
                cmocka_unit_test(killing_goes_on),
                cmocka_unit_test(a_row_whose_folder_is_gone_goes_too),
                cmocka_unit_test(all_that_was_restored_gets_its_turn),
                cmocka_unit_test(what_was_restored_counts_before_its_gpu_is_here),
                cmocka_unit_test(what_was_restored_can_be_asked_for_before_its_turn),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
