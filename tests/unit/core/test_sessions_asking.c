/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session's owner can ask of it: changes, renewals, its release; and that nobody else can.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessions_stage.h"

static void another_owner_s_session_is_not_there(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G by=1000\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "change one A=2G by=1001\n"
             "  unknown name\n"
             "renew one ttl=60 by=1001\n"
             "  unknown name\n"
             "release one force by=1001\n"
             "  unknown name\n"
             "change two A=2G by=1001\n"
             "  unknown name\n"
             "change one A=2G by=1001 admin\n"
             "  yes, one: save tell(changed) limit(A=2G)\n"
             "change one A=3G by=0\n"
             "  yes, one: save tell(changed) limit(A=3G)\n"
             "show one\n"
             "  open uid 1000 v3 A=3G weight 100 priority 1 on-end deny-new\n");
}

static void a_change_is_for_who_saw_the_latest_version(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "change one A=2G version=1\n"
             "  yes, one: save tell(changed) limit(A=2G)\n"
             "change one A=3G version=1\n"
             "  stale\n"
             "release one version=1\n"
             "  stale\n"
             "change one A=3G version=2\n"
             "  yes, one: save tell(changed) limit(A=3G)\n"
             "change one A=4G\n"
             "  yes, one: save tell(changed) limit(A=4G)\n"
             "show one\n"
             "  open uid 1000 v4 A=4G weight 100 priority 1 on-end deny-new\n");
}

static void memory_grows_into_what_is_free_and_shrinks_always(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "create two A=8G\n"
             "  yes, two: save tell(created) make(A=8G)\n"
             "change one A=9G\n"
             "  no-room memory: A wants 9G, free 8G\n"
             "change one A=8G\n"
             "  yes, one: save tell(changed) limit(A=8G)\n"
             "change one A=17G\n"
             "  no-gpu gpus: A wants 17G, free 16G\n"
             "room A\n"
             "  promised 16G, room 0G\n"
             "gpu A 8G\n"
             "  yes tell(gpu-here)\n"
             "change one A=7G\n"
             "  yes, one: save tell(changed) limit(A=7G)\n"
             "change one A=8G\n"
             "  no-room memory: A wants 8G, free 0G\n"
             "gone A\n"
             "  yes tell(gpu-gone)\n"
             "change one A=6G\n"
             "  yes, one: save tell(changed) limit(A=6G)\n"
             "change one A=7G\n"
             "  no-gpu gpus: A wants 7G, free 0G\n"
             "change one A=0G\n"
             "  bad memory\n"
             "show one\n"
             "  open uid 1000 v4 A=6G weight 100 priority 1 on-end deny-new\n");
}

static void a_change_of_several_gpus_is_all_or_nothing(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 8G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G B=4G\n"
             "  yes, one: save tell(created) make(A=4G B=4G)\n"
             "change one A=8G B=9G\n"
             "  no-gpu gpus: B wants 9G, free 8G\n"
             "change one A=8G C=1G\n"
             "  no-gpu gpus: C wants 0G, free 0G\n"
             "change one A=8G A=2G\n"
             "  bad gpus\n"
             "change one A=8G B=2G weight=0\n"
             "  bad weight\n"
             "show one\n"
             "  open uid 1000 v1 A=4G B=4G weight 100 priority 1 on-end deny-new\n"
             "change one B=2G\n"
             "  yes, one: save tell(changed) limit(A=4G B=2G)\n"
             "show one\n"
             "  open uid 1000 v2 A=4G B=2G weight 100 priority 1 on-end deny-new\n");
}

static void only_what_was_said_is_changed(void **state)
{
        play("policy strict ttl=60\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G/50000/25000 labels={} end=kill weight=7 priority=2\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "change one labels={\"a\":\"b\"}\n"
             "  yes, one: save tell(changed)\n"
             "change one end=term\n"
             "  yes, one: save tell(changed)\n"
             "at 1010\n"
             "change one priority=0\n"
             "  yes, one: save tell(changed) limit(A=4G)\n"
             "change one weight=9\n"
             "  yes, one: save tell(changed) limit(A=4G)\n"
             "change one gang=ranks\n"
             "  yes, one: save tell(changed) limit(A=4G)\n"
             "show one\n"
             "  open uid 1000 v6 A=4G/50000/25000 weight 9 priority 0 on-end term gang ranks "
             "labels "
             "{\"a\":\"b\"} ttl 60 until 1060\n"
             "change one gang=none\n"
             "  yes, one: save tell(changed) limit(A=4G)\n"
             "change one A=4G/100000/0 ttl=none\n"
             "  yes, one: save tell(changed) limit(A=4G)\n"
             "show one\n"
             "  open uid 1000 v8 A=4G/100000/0 weight 9 priority 0 on-end term labels "
             "{\"a\":\"b\"}\n");
}

/* A guarantee that could not be kept is not given. */
static void guarantees_of_a_gpu_are_no_more_than_its_time(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G/0/60000\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G/0/40001\n"
             "  no-time guarantee: A, free 40000\n"
             "create two A=1G/0/40000\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "create three A=1G\n"
             "  yes, three: save tell(created) make(A=1G)\n"
             "change three A=1G/0/1\n"
             "  no-time guarantee: A, free 0\n"
             "change one A=1G/0/50000\n"
             "  yes, one: save tell(changed) limit(A=1G)\n"
             "change three A=1G/0/10000\n"
             "  yes, three: save tell(changed) limit(A=1G)\n"
             "create four any=1G/0/5000\n"
             "  yes, four: save tell(created) make(B=1G)\n"
             "create five any=1G/0/95001\n"
             "  no-time guarantee: A, free 0\n");
}

/* Its programs go on to have it. */
static void a_session_that_ends_keeps_its_guarantee_until_nothing_of_it_is_left(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G/0/60000\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "run one\n"
             "release one force\n"
             "  yes, one: save tell(released) shut\n"
             "create two A=1G/0/40001\n"
             "  no-time guarantee: A, free 40000\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "create two A=1G/0/40001\n"
             "  yes, two: save tell(created) make(A=1G)\n");
}

static void a_cap_below_the_guarantee_is_refused(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=4G/50000/25000\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "change one A=4G/20000/25000\n"
             "  bad guarantee\n"
             "change one A=4G/20000/20000\n"
             "  yes, one: save tell(changed) limit(A=4G)\n"
             "show one\n"
             "  open uid 1000 v2 A=4G/20000/20000 weight 100 priority 1 on-end deny-new\n");
}

static void who_says_nothing_of_the_end_gets_the_policy_s(void **state)
{
        play("policy strict ttl=60 end=term\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G ttl=none end=kill\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "create three A=1G ttl=3600\n"
             "  yes, three: save tell(created) make(A=1G)\n"
             "policy strict most=100\n"
             "  yes\n"
             "create four A=1G\n"
             "  yes, four: save tell(created) make(A=1G)\n"
             "show one\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end term ttl 60 until 1060\n"
             "show two\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end kill\n"
             "show three\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end term ttl 3600 until 4600\n"
             "show four\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end deny-new ttl 100 until 1100\n");
}

static void nobody_may_stay_longer_than_the_longest(void **state)
{
        play("policy strict ttl=60 most=100\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=101\n"
             "  too-long ttl\n"
             "create one A=1G ttl=none\n"
             "  too-long ttl\n"
             "create one A=1G ttl=100\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "change one ttl=101\n"
             "  too-long ttl\n"
             "change one ttl=none\n"
             "  too-long ttl\n"
             "renew one ttl=101\n"
             "  too-long ttl\n"
             "change one weight=1\n"
             "  yes, one: save tell(changed) limit(A=1G)\n"
             "show one\n"
             "  open uid 1000 v2 A=1G weight 1 priority 1 on-end deny-new ttl 100 until 1100\n");
}

static void where_ttls_are_bounded_nobody_asks_for_a_milder_end_than_the_policy_s(void **state)
{
        play("policy strict most=100 end=term\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G end=deny-new\n"
             "  bad on_end\n"
             "create one A=1G end=kill\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "change one end=deny-new\n"
             "  bad on_end\n"
             "change one end=term\n"
             "  yes, one: save tell(changed)\n"
             "create two A=1G end=deny-new admin\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "change one end=deny-new by=0\n"
             "  yes, one: save tell(changed)\n"
             "policy strict end=term\n"
             "  yes\n"
             "create three A=1G end=deny-new\n"
             "  yes, three: save tell(created) make(A=1G)\n");
}

static void a_renewal_counts_from_now_and_raises_no_version_by_itself(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=60\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "at 1050\n"
             "renew one\n"
             "  yes, one: save tell(renewed)\n"
             "show one\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end deny-new ttl 60 until 1110\n"
             "renew one ttl=100\n"
             "  yes, one: save tell(renewed)\n"
             "show one\n"
             "  open uid 1000 v2 A=1G weight 100 priority 1 on-end deny-new ttl 100 until 1150\n"
             "at 1060\n"
             "renew one\n"
             "  yes, one: save tell(renewed)\n"
             "show one\n"
             "  open uid 1000 v2 A=1G weight 100 priority 1 on-end deny-new ttl 100 until 1160\n"
             "renew one ttl=10\n"
             "  yes, one: save tell(renewed)\n"
             "next\n"
             "  1070\n");
}

static void a_session_without_an_end_is_renewed_by_doing_nothing(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "renew one\n"
             "  yes\n"
             "next\n"
             "  nothing is due\n"
             "renew one ttl=5\n"
             "  yes, one: save tell(renewed)\n"
             "next\n"
             "  1005\n"
             "renew two\n"
             "  unknown name\n");
}

static void a_renewal_of_a_ttl_that_was_allowed_once_gets_the_longest_that_is(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=3600\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "policy strict most=100\n"
             "  yes\n"
             "renew one\n"
             "  yes, one: save tell(renewed)\n"
             "show one\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end deny-new ttl 3600 until 1100\n"
             "renew two\n"
             "  yes\n"
             "show two\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end deny-new\n");
}

static void a_ttl_beyond_all_time_is_never(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G ttl=max\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "at 18000000000\n"
             "tick\n"
             "  yes\n"
             "show one\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end deny-new ttl never until "
             "never\n");
}

static void a_session_in_use_is_released_only_by_force(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "run one\n"
             "release one\n"
             "  busy\n"
             "show one\n"
             "  open uid 1000 v1 A=1G weight 100 priority 1 on-end deny-new\n"
             "release one force\n"
             "  yes, one: save tell(released) shut\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "show one\n"
             "  no such session\n");
}

static void what_is_ending_can_not_be_changed_only_forced(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "run one\n"
             "release one force\n"
             "  yes, one: save tell(released) shut\n"
             "change one A=2G\n"
             "  closed\n"
             "renew one ttl=5\n"
             "  closed\n"
             "release one\n"
             "  closed\n"
             "release one force version=1\n"
             "  stale\n"
             "release one force\n"
             "  yes, one: save tell(killed) shut sigkill\n"
             "show one\n"
             "  killing uid 1000 v3 A=1G weight 100 priority 1 on-end deny-new ended 1000\n"
             "release one force\n"
             "  yes, one: save tell(killed) shut sigkill\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "release one\n"
             "  unknown name\n");
}

/* docs/admission.md, "An example". */
static void the_example_of_the_page_on_sessions(void **state)
{
        play("policy ratio percent=150 reserve=2G\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 8G\n"
             "  yes tell(gpu-here)\n"
             "create one A=14G\n"
             "  yes, one: save tell(created) make(A=14G)\n"
             "create two A=15G\n"
             "  no-gpu gpus: A wants 15G, free 14G\n"
             "create two A=8G B=1G\n"
             "  no-room memory: A wants 8G, free 7G\n"
             "create two A=7G B=1G\n"
             "  yes, two: save tell(created) make(A=7G B=1G)\n"
             "create three any=4G\n"
             "  yes, three: save tell(created) make(B=4G)\n"
             "change three B=7G\n"
             "  no-gpu gpus: B wants 7G, free 6G\n"
             "change three B=6G\n"
             "  yes, three: save tell(changed) limit(B=6G)\n"
             "create four any=1G any=1G\n"
             "  no-room memory: A wants 1G, free 0G\n"
             "room A\n"
             "  promised 21G, room 0G\n"
             "room B\n"
             "  promised 7G, room 2G\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(another_owner_s_session_is_not_there),
                cmocka_unit_test(a_change_is_for_who_saw_the_latest_version),
                cmocka_unit_test(memory_grows_into_what_is_free_and_shrinks_always),
                cmocka_unit_test(a_change_of_several_gpus_is_all_or_nothing),
                cmocka_unit_test(only_what_was_said_is_changed),
                cmocka_unit_test(
                        a_session_that_ends_keeps_its_guarantee_until_nothing_of_it_is_left),
                cmocka_unit_test(a_cap_below_the_guarantee_is_refused),
                cmocka_unit_test(guarantees_of_a_gpu_are_no_more_than_its_time),
                cmocka_unit_test(who_says_nothing_of_the_end_gets_the_policy_s),
                cmocka_unit_test(nobody_may_stay_longer_than_the_longest),
                cmocka_unit_test(
                        where_ttls_are_bounded_nobody_asks_for_a_milder_end_than_the_policy_s),
                cmocka_unit_test(a_renewal_counts_from_now_and_raises_no_version_by_itself),
                cmocka_unit_test(a_session_without_an_end_is_renewed_by_doing_nothing),
                cmocka_unit_test(a_renewal_of_a_ttl_that_was_allowed_once_gets_the_longest_that_is),
                cmocka_unit_test(a_ttl_beyond_all_time_is_never),
                cmocka_unit_test(a_session_in_use_is_released_only_by_force),
                cmocka_unit_test(what_is_ending_can_not_be_changed_only_forced),
                cmocka_unit_test(the_example_of_the_page_on_sessions),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
