/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may take what: the rules hold for every session that is made, changed or renewed, and for
 * nobody's that is there already.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessions_stage.h"

static void a_session_beyond_its_owners_rule_is_refused_with_that_rule(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody memory=4G\n"
             "  yes\n"
             "create one A=5G\n"
             "  ruled memory: memory asks 5G, most 4G by everybody\n"
             "create one A=4G\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "rule user 1001 memory=6G\n"
             "  yes\n"
             "create two by=1001 A=5G\n"
             "  yes, two: save tell(created) make(A=5G)\n");
}

static void root_and_the_daemons_own_user_are_above_the_rules(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody memory=1G priority=0 sessions=0 ttl=1 guarantee=0\n"
             "  yes\n"
             "create one by=0 A=4G/0/50000 priority=2\n"
             "  yes, one: save tell(created) make(A=4G)\n"
             "create two by=77 admin A=4G priority=2\n"
             "  yes, two: save tell(created) make(A=4G)\n"
             "create three by=77 admin owner=1000 A=4G priority=2\n"
             "  yes, three: save tell(created) make(A=4G)\n");
}

/* In a container of a profile, root is whoever the image says. */
static void root_that_comes_by_a_profile_is_bounded_by_it(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule profile small memory=1G\n"
             "  yes\n"
             "create one by=0 profile=small A=2G\n"
             "  ruled memory: memory asks 2G, most 1G by profile small\n"
             "create one by=0 admin profile=small A=2G\n"
             "  ruled memory: memory asks 2G, most 1G by profile small\n"
             "create one by=0 profile=other A=2G\n"
             "  yes, one: save tell(created) make(A=2G)\n");
}

/* An administrator made the profile: what others may take says nothing of it. */
static void a_profile_is_bounded_by_its_own_rules_alone(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody priority=1 memory-in-all=2G\n"
             "  yes\n"
             "rule profile small sessions=2\n"
             "  yes\n"
             "create one by=0 profile=small A=3G priority=2\n"
             "  yes, one: save tell(created) make(A=3G)\n"
             "create other by=0 profile=large A=3G\n"
             "  yes, other: save tell(created) make(A=3G)\n"
             "create own by=0 A=3G\n"
             "  yes, own: save tell(created) make(A=3G)\n"
             "create two by=0 profile=small A=1G\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "create three by=0 profile=small A=1G\n"
             "  ruled owner: sessions asks 3, most 2 by profile small\n");
}

static void memory_in_all_counts_every_session_of_the_user(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody memory-in-all=100%\n"
             "  yes\n"
             "create one A=10G\n"
             "  yes, one: save tell(created) make(A=10G)\n"
             "create other by=1001 A=6G\n"
             "  yes, other: save tell(created) make(A=6G)\n"
             "create two B=7G\n"
             "  ruled memory: memory-in-all asks 17G, most 16G by everybody\n"
             "create two B=6G\n"
             "  yes, two: save tell(created) make(B=6G)\n"
             "change two B=7G\n"
             "  ruled memory: memory-in-all asks 17G, most 16G by everybody\n");
}

/* What is held of a lowered limit is still the user's. */
/* They take turns with the card, and are promised it once. */
static void sessions_that_swap_on_one_gpu_count_once(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody memory-in-all=100%\n"
             "  yes\n"
             "create one A=16G swap\n"
             "  yes, one: save tell(created) make(A=16G)\n"
             "create two A=16G swap\n"
             "  yes, two: save tell(created) make(A=16G)\n"
             "create three A=1G\n"
             "  ruled memory: memory-in-all asks 17G, most 16G by everybody\n");
}

static void memory_that_a_lowered_limit_has_not_given_back_counts(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody memory-in-all=8G\n"
             "  yes\n"
             "create one A=8G\n"
             "  yes, one: save tell(created) make(A=8G)\n"
             "change one A=1G\n"
             "  yes, one: save tell(changed) limit(A=1G)\n"
             "create two A=2G\n"
             "  ruled memory: memory-in-all asks 10G, most 8G by everybody\n"
             "held one A=1G\n"
             "  yes, one: save\n"
             "create two A=2G\n"
             "  yes, two: save tell(created) make(A=2G)\n");
}

static void a_percentage_is_of_the_largest_card(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody memory-in-all=50%\n"
             "  yes\n"
             "create one A=9G\n"
             "  ruled memory: memory-in-all asks 9G, most 8G by everybody\n"
             "gpu B 32G\n"
             "  yes tell(gpu-here)\n"
             "create one A=9G\n"
             "  yes, one: save tell(created) make(A=9G)\n");
}

static void guarantees_are_bounded_together(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody guarantee=25000\n"
             "  yes\n"
             "create one A=1G/0/20000\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G/0/10000\n"
             "  ruled guarantee: guarantee asks 30000, most 25000 by everybody\n"
             "create two A=1G/0/5000\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "change one A=1G/0/30000\n"
             "  ruled guarantee: guarantee asks 35000, most 25000 by everybody\n");
}

static void class_weight_and_swap_are_bounded(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody priority=1 weight=100 swap=0\n"
             "  yes\n"
             "create one A=1G priority=2\n"
             "  ruled priority: priority asks 2, most 1 by everybody\n"
             "create one A=1G weight=101\n"
             "  ruled weight: weight asks 101, most 100 by everybody\n"
             "create one A=1G swap\n"
             "  ruled swap: swap asks 1, most 0G by everybody\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "change one priority=2\n"
             "  ruled priority: priority asks 2, most 1 by everybody\n"
             "change one weight=200\n"
             "  ruled weight: weight asks 200, most 100 by everybody\n");
}

/* A cap that nobody said would else be refused to everybody who has a bound. */
static void who_names_no_cap_has_the_largest_one_that_is_allowed(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule everybody compute=50000\n"
             "  yes\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "show one\n"
             "  open uid 1000 v1 A=1G/50000/0 weight 100 priority 1 on-end deny-new\n"
             "create two A=1G/60000/0\n"
             "  ruled compute: compute asks 60000, most 50000 by everybody\n"
             "change one A=1G/0/0\n"
             "  yes, one: save tell(changed) limit(A=1G)\n"
             "show one\n"
             "  open uid 1000 v2 A=1G/50000/0 weight 100 priority 1 on-end deny-new\n");
}

static void gpus_of_others_are_neither_named_nor_chosen(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 16G\n"
             "  yes tell(gpu-here)\n"
             "rule user 1000 gpus=B\n"
             "  yes\n"
             "rule user 1001 gpus=C\n"
             "  yes\n"
             "create one A=1G\n"
             "  ruled gpus: gpus asks 1, most 2 by user 1000\n"
             "create one any=1G\n"
             "  yes, one: save tell(created) make(B=1G)\n"
             "create two any=16G\n"
             "  no-room memory: B wants 16G, free 15G\n"
             "create three by=1001 any=1G\n"
             "  ruled gpus: gpus asks 3, most 0G by user 1001\n"
             "create three by=1002 any=1G\n"
             "  yes, three: save tell(created) make(B=1G)\n");
}

static void a_rule_for_sessions_stands_in_place_of_the_usual_number(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "policy strict owner-most=1\n"
             "  yes\n"
             "rule user 1001 sessions=2\n"
             "  yes\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G\n"
             "  full owner\n"
             "create three by=1001 A=1G\n"
             "  yes, three: save tell(created) make(A=1G)\n"
             "create four by=1001 A=1G\n"
             "  yes, four: save tell(created) make(A=1G)\n"
             "create five by=1001 A=1G\n"
             "  ruled owner: sessions asks 3, most 2 by user 1001\n");
}

static void a_rule_for_the_ttl_stands_in_place_of_the_usual_one(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "policy strict ttl=50 most=60\n"
             "  yes\n"
             "rule user 1000 ttl=20\n"
             "  yes\n"
             "rule user 1001 ttl=any\n"
             "  yes\n"
             "create one A=1G ttl=30\n"
             "  ruled ttl: ttl asks 30, most 20 by user 1000\n"
             "create one A=1G ttl=none\n"
             "  ruled ttl: ttl asks any, most 20 by user 1000\n"
             "create one A=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "next\n"
             "  1020\n"
             "renew one ttl=30\n"
             "  ruled ttl: ttl asks 30, most 20 by user 1000\n"
             "change one ttl=30\n"
             "  ruled ttl: ttl asks 30, most 20 by user 1000\n"
             "create two by=1001 A=1G ttl=none\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "create three by=1002 A=1G ttl=61\n"
             "  too-long ttl\n");
}

static void who_was_admitted_keeps_what_it_has_under_a_new_rule(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=8G/0/50000 priority=2 weight=200\n"
             "  yes, one: save tell(created) make(A=8G)\n"
             "rule everybody memory=4G memory-in-all=4G compute=50000 guarantee=0 priority=0 "
             "weight=1 sessions=0\n"
             "  yes\n"
             "change one labels=x\n"
             "  yes, one: save tell(changed)\n"
             "change one A=6G\n"
             "  yes, one: save tell(changed) limit(A=6G)\n"
             "change one A=7G\n"
             "  ruled memory: memory asks 7G, most 4G by everybody\n"
             "change one priority=1\n"
             "  yes, one: save tell(changed) limit(A=6G)\n"
             "change one priority=2\n"
             "  ruled priority: priority asks 2, most 0G by everybody\n"
             "show one\n"
             "  open uid 1000 v4 A=6G/0/50000 weight 200 priority 1 on-end deny-new labels x\n");
}

static void a_try_answers_as_the_creation_and_changes_nothing(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "rule group 7 memory=4G\n"
             "  yes\n"
             "try one A=5G group=7\n"
             "  ruled memory: memory asks 5G, most 4G by group 7\n"
             "try one A=5G group=8\n"
             "  yes\n"
             "show one\n"
             "  no such session\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_session_beyond_its_owners_rule_is_refused_with_that_rule),
                cmocka_unit_test(root_and_the_daemons_own_user_are_above_the_rules),
                cmocka_unit_test(root_that_comes_by_a_profile_is_bounded_by_it),
                cmocka_unit_test(a_profile_is_bounded_by_its_own_rules_alone),
                cmocka_unit_test(memory_in_all_counts_every_session_of_the_user),
                cmocka_unit_test(sessions_that_swap_on_one_gpu_count_once),
                cmocka_unit_test(memory_that_a_lowered_limit_has_not_given_back_counts),
                cmocka_unit_test(a_percentage_is_of_the_largest_card),
                cmocka_unit_test(guarantees_are_bounded_together),
                cmocka_unit_test(class_weight_and_swap_are_bounded),
                cmocka_unit_test(who_names_no_cap_has_the_largest_one_that_is_allowed),
                cmocka_unit_test(gpus_of_others_are_neither_named_nor_chosen),
                cmocka_unit_test(a_rule_for_sessions_stands_in_place_of_the_usual_number),
                cmocka_unit_test(a_rule_for_the_ttl_stands_in_place_of_the_usual_one),
                cmocka_unit_test(who_was_admitted_keeps_what_it_has_under_a_new_rule),
                cmocka_unit_test(a_try_answers_as_the_creation_and_changes_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
