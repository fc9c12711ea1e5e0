/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is admitted: what may be promised of a card, to whom, and which card it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/sessions.h"
#include "sessions_stage.h"

static void what_is_promised_is_never_more_than_the_card(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=10G\n"
             "  yes, one: save tell(created) make(A=10G)\n"
             "create two A=7G\n"
             "  no-room memory: A wants 7G, free 6G\n"
             "create two A=6G\n"
             "  yes, two: save tell(created) make(A=6G)\n"
             "room A\n"
             "  promised 16G, room 0G\n"
             "create three A=1\n"
             "  no-room memory: A wants 1, free 0G\n");
}

static void what_a_session_had_is_free_when_nothing_of_it_is_left(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=16G\n"
             "  yes, one: save tell(created) make(A=16G)\n"
             "release one\n"
             "  yes, one: save tell(released) shut\n"
             "create two A=1G\n"
             "  no-room memory: A wants 1G, free 0G\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "create two A=16G\n"
             "  yes, two: save tell(created) make(A=16G)\n");
}

/* Four times 4G lowered to 1 byte and held would else be 16G of another's promise. */
static void a_lowered_limit_gives_back_what_nobody_holds_any_more(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=12G\n"
             "  yes, one: save tell(created) make(A=12G)\n"
             "change one A=1G\n"
             "  yes, one: save tell(changed) limit(A=1G)\n"
             "create two A=8G\n"
             "  no-room memory: A wants 8G, free 4G\n"
             "held one A=10G\n"
             "  yes, one: save\n"
             "room A\n"
             "  promised 10G, room 6G\n"
             "held one A=11G\n"
             "  yes\n"
             "room A\n"
             "  promised 10G, room 6G\n"
             "held one A=0G\n"
             "  yes, one: save\n"
             "held one A=0G\n"
             "  yes\n"
             "create two A=15G\n"
             "  yes, two: save tell(created) make(A=15G)\n"
             "held three A=0G\n"
             "  unknown name\n");
}

/* What was lowered is its own still: it may grow into it again. */
static void a_lowered_limit_may_be_raised_to_what_it_counts_for(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=12G\n"
             "  yes, one: save tell(created) make(A=12G)\n"
             "change one A=1G\n"
             "  yes, one: save tell(changed) limit(A=1G)\n"
             "create two A=4G\n"
             "  yes, two: save tell(created) make(A=4G)\n"
             "change one A=12G\n"
             "  yes, one: save tell(changed) limit(A=12G)\n"
             "held one A=0G\n"
             "  yes\n"
             "room A\n"
             "  promised 16G, room 0G\n");
}

static void a_session_that_ends_counts_for_what_it_holds(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=12G\n"
             "  yes, one: save tell(created) make(A=12G)\n"
             "change one A=1G\n"
             "  yes, one: save tell(changed) limit(A=1G)\n"
             "release one\n"
             "  yes, one: save tell(released) shut\n"
             "room A\n"
             "  promised 12G, room 4G\n"
             "held one A=3G\n"
             "  yes, one: save\n"
             "room A\n"
             "  promised 3G, room 13G\n");
}

static void sessions_that_swap_count_as_the_largest_of_them(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=10G swap\n"
             "  yes, one: save tell(created) make(A=10G)\n"
             "create two A=12G swap\n"
             "  yes, two: save tell(created) make(A=12G)\n"
             "create three A=12G swap\n"
             "  yes, three: save tell(created) make(A=12G)\n"
             "room A\n"
             "  promised 12G, room 4G\n"
             "create four A=17G swap\n"
             "  no-gpu gpus: A wants 17G, free 16G\n");
}

static void a_plain_session_leaves_the_room_of_those_that_swap(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=10G swap\n"
             "  yes, one: save tell(created) make(A=10G)\n"
             "create plain A=7G\n"
             "  no-room memory: A wants 7G, free 6G\n"
             "create plain A=4G\n"
             "  yes, plain: save tell(created) make(A=4G)\n"
             "create two A=13G swap\n"
             "  no-room memory: A wants 13G, free 12G\n"
             "create two A=12G swap\n"
             "  yes, two: save tell(created) make(A=12G)\n"
             "room A\n"
             "  promised 16G, room 0G\n"
             "change one A=13G\n"
             "  no-room memory: A wants 13G, free 12G\n"
             "change plain A=5G\n"
             "  no-room memory: A wants 5G, free 4G\n"
             "change one A=12G\n"
             "  yes, one: save tell(changed) limit(A=12G)\n");
}

/* Where less is admitted than was once promised, nobody comes in, however small. */
static void who_swaps_gets_no_room_where_too_much_is_promised(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=16G swap\n"
             "  yes, one: save tell(created) make(A=16G)\n"
             "policy strict reserve=2G\n"
             "  yes\n"
             "create two A=1G swap\n"
             "  no-room memory: A wants 1G, free 0G\n");
}

static void what_swaps_has_one_gpu_and_nothing_in_the_host_besides(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G B=1G swap\n"
             "  bad swap\n"
             "create one A=1G swap host\n"
             "  bad swap\n");
}

/* They would take turns on one while the other has nothing to do. */
static void those_that_swap_are_spread_over_the_cards(void **state)
{
        play("gpu A 8G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 8G\n"
             "  yes tell(gpu-here)\n"
             "create one any=8G swap\n"
             "  yes, one: save tell(created) make(A=8G)\n"
             "create two any=6G swap\n"
             "  yes, two: save tell(created) make(B=6G)\n"
             "create three any=4G swap\n"
             "  yes, three: save tell(created) make(B=4G)\n"
             "create four any=4G swap choice=least-loaded\n"
             "  yes, four: save tell(created) make(A=4G)\n");
}

static void a_reserve_is_promised_to_nobody(void **state)
{
        play("policy strict reserve=2G\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 1G\n"
             "  yes tell(gpu-here)\n"
             "create one A=15G\n"
             "  no-gpu gpus: A wants 15G, free 14G\n"
             "create one A=14G\n"
             "  yes, one: save tell(created) make(A=14G)\n"
             "create two B=1\n"
             "  no-gpu gpus: B wants 1, free 0G\n"
             "room B\n"
             "  promised 0G, room 0G\n");
}

static void a_ratio_lets_all_together_have_more_than_the_card_and_nobody_alone(void **state)
{
        play("policy ratio percent=150 reserve=6G\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "room A\n"
             "  promised 0G, room 10G\n"
             "create one A=11G\n"
             "  no-gpu gpus: A wants 11G, free 10G\n"
             "create one A=10G\n"
             "  yes, one: save tell(created) make(A=10G)\n"
             "room A\n"
             "  promised 10G, room 5G\n"
             "create two A=6G\n"
             "  no-room memory: A wants 6G, free 5G\n"
             "create two A=5G\n"
             "  yes, two: save tell(created) make(A=5G)\n"
             "room A\n"
             "  promised 15G, room 0G\n");
}

static void without_a_bound_only_a_single_session_is_held_to_the_card(void **state)
{
        play("policy none\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=16G\n"
             "  yes, one: save tell(created) make(A=16G)\n"
             "create two A=16G\n"
             "  yes, two: save tell(created) make(A=16G)\n"
             "create three A=17G\n"
             "  no-gpu gpus: A wants 17G, free 16G\n"
             "room A\n"
             "  promised 32G, room 16G\n");
}

static void sums_near_two_to_the_64_do_not_wrap(void **state)
{
        play("policy ratio percent=10000\n"
             "  yes\n"
             "gpu A max\n"
             "  yes tell(gpu-here)\n"
             "create one A=max\n"
             "  yes, one: save tell(created) make(A=18446744073709551615)\n"
             "create two A=max\n"
             "  no-room memory: A wants 18446744073709551615, free 0G\n"
             "policy none\n"
             "  yes\n"
             "create two A=1\n"
             "  no-room memory: A wants 1, free 0G\n"
             "room A\n"
             "  promised 18446744073709551615, room 0G\n");
}

static void a_session_on_several_gpus_gets_all_or_nothing(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 8G\n"
             "  yes tell(gpu-here)\n"
             "create one A=10G B=9G\n"
             "  no-gpu gpus: B wants 9G, free 8G\n"
             "create two A=10G B=8G\n"
             "  yes, two: save tell(created) make(A=10G B=8G)\n"
             "create three A=7G B=9G\n"
             "  no-gpu gpus: B wants 9G, free 8G\n"
             "create three A=6G B=1G\n"
             "  no-room memory: B wants 1G, free 0G\n"
             "room A\n"
             "  promised 10G, room 6G\n"
             "room B\n"
             "  promised 8G, room 0G\n");
}

static void a_gpu_that_is_named_must_be_here_and_named_once(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one B=1G\n"
             "  no-gpu gpus: B wants 1G, free 0G\n"
             "create one A=1G A=1G\n"
             "  bad gpus\n"
             "create one\n"
             "  bad gpus\n"
             "gone A\n"
             "  yes tell(gpu-gone)\n"
             "create one A=1G\n"
             "  no-gpu gpus: A wants 1G, free 0G\n");
}

static void best_fit_takes_the_least_room_that_is_enough(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 8G\n"
             "  yes tell(gpu-here)\n"
             "gpu C 12G\n"
             "  yes tell(gpu-here)\n"
             "create one any=8G\n"
             "  yes, one: save tell(created) make(B=8G)\n"
             "create two any=8G\n"
             "  yes, two: save tell(created) make(C=8G)\n"
             "create three any=4G\n"
             "  yes, three: save tell(created) make(C=4G)\n"
             "create four any=17G\n"
             "  no-gpu gpus: - wants 17G, free 16G\n"
             "create four any=12G free=17G\n"
             "  no-gpu gpus: - wants 17G, free 16G\n"
             "create four any=16G\n"
             "  yes, four: save tell(created) make(A=16G)\n"
             "create five any=1G\n"
             "  no-room memory: A wants 1G, free 0G\n");
}

static void least_loaded_takes_the_most_room(void **state)
{
        play("policy strict choice=least-loaded\n"
             "  yes\n"
             "gpu A 8G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 16G\n"
             "  yes tell(gpu-here)\n"
             "create one any=9G\n"
             "  yes, one: save tell(created) make(B=9G)\n"
             "create two any=2G\n"
             "  yes, two: save tell(created) make(A=2G)\n"
             "create three any=2G\n"
             "  yes, three: save tell(created) make(B=2G)\n"
             "create four any=1G choice=best-fit\n"
             "  yes, four: save tell(created) make(B=1G)\n");
}

static void equals_are_taken_in_the_order_of_the_cards(void **state)
{
        play("gpu A 8G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 8G\n"
             "  yes tell(gpu-here)\n"
             "create one any=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two any=1G choice=least-loaded\n"
             "  yes, two: save tell(created) make(B=1G)\n"
             "create three any=1G choice=least-loaded\n"
             "  yes, three: save tell(created) make(A=1G)\n");
}

static void without_a_bound_cards_that_are_full_are_chosen_last(void **state)
{
        play("policy none\n"
             "  yes\n"
             "gpu A 8G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 8G\n"
             "  yes tell(gpu-here)\n"
             "create one any=6G\n"
             "  yes, one: save tell(created) make(A=6G)\n"
             "create two any=6G\n"
             "  yes, two: save tell(created) make(B=6G)\n"
             "create three any=2G\n"
             "  yes, three: save tell(created) make(A=2G)\n"
             "create four any=4G\n"
             "  yes, four: save tell(created) make(B=4G)\n"
             "create five any=4G choice=least-loaded\n"
             "  yes, five: save tell(created) make(A=4G)\n"
             "create six any=9G\n"
             "  no-gpu gpus: - wants 9G, free 8G\n");
}

static void a_least_room_before_it_keeps_a_session_off_cards_in_use(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 24G\n"
             "  yes tell(gpu-here)\n"
             "create one any=1G\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two any=1G free=16G\n"
             "  yes, two: save tell(created) make(B=1G)\n"
             "create three any=1G free=24G\n"
             "  no-room memory: B wants 24G, free 23G\n");
}

static void several_gpus_that_are_chosen_are_different_ones(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 8G\n"
             "  yes tell(gpu-here)\n"
             "create one any=4G any=4G any=4G\n"
             "  no-gpu gpus: - wants 4G, free 0G\n"
             "create one any=4G any=12G\n"
             "  yes, one: save tell(created) make(B=4G A=12G)\n"
             "create two any=4G any=5G\n"
             "  no-room memory: A wants 5G, free 4G\n"
             "create two any=4G any=4G\n"
             "  yes, two: save tell(created) make(A=4G B=4G)\n"
             "room A\n"
             "  promised 16G, room 0G\n"
             "room B\n"
             "  promised 8G, room 0G\n");
}

static void a_gpu_that_is_gone_is_neither_chosen_nor_forgotten(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 8G\n"
             "  yes tell(gpu-here)\n"
             "create one any=10G\n"
             "  yes, one: save tell(created) make(A=10G)\n"
             "gone A\n"
             "  yes tell(gpu-gone)\n"
             "gone A\n"
             "  yes\n"
             "gone C\n"
             "  no-gpu gpu: C wants 0G, free 0G\n"
             "room A\n"
             "  promised 10G, room 0G\n"
             "create two any=9G\n"
             "  no-gpu gpus: - wants 9G, free 8G\n"
             "create two any=4G\n"
             "  yes, two: save tell(created) make(B=4G)\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu A 16G\n"
             "  yes\n"
             "room A\n"
             "  promised 10G, room 6G\n"
             "gpu A 8G\n"
             "  yes tell(gpu-here)\n"
             "room A\n"
             "  promised 10G, room 0G\n"
             "create three any=1G\n"
             "  yes, three: save tell(created) make(B=1G)\n");
}

static void the_place_of_a_gpu_that_is_gone_can_be_another_s(void **state)
{
        play("gpu A 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu B 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu C 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu D 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu E 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu F 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu G 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu H 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu I 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu J 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu K 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu L 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu M 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu N 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu O 1G\n"
             "  yes tell(gpu-here)\n"
             "gpu P 1G\n"
             "  yes tell(gpu-here)\n"
             "create one B=1G\n"
             "  yes, one: save tell(created) make(B=1G)\n"
             "gpu Q 1G\n"
             "  full gpu\n"
             "gone B\n"
             "  yes tell(gpu-gone)\n"
             "gpu Q 1G\n"
             "  yes tell(gpu-here)\n"
             "room B\n"
             "  promised 1G, room 0G\n"
             "gone A\n"
             "  yes tell(gpu-gone)\n"
             "gpu B 1G\n"
             "  yes tell(gpu-here)\n"
             "create two B=1G\n"
             "  no-room memory: B wants 1G, free 0G\n"
             "create three Q=1G\n"
             "  yes, three: save tell(created) make(Q=1G)\n");
}

static void an_owner_has_no_more_sessions_than_the_policy_says(void **state)
{
        play("policy none owner-most=2\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G by=1000\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G by=1000\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "create three A=1G by=1000\n"
             "  full owner\n"
             "create three A=1G by=1001\n"
             "  yes, three: save tell(created) make(A=1G)\n"
             "create four A=1G by=0 owner=1000\n"
             "  full owner\n"
             "release one by=1000\n"
             "  yes, one: save tell(released) shut\n"
             "create four A=1G by=1000\n"
             "  full owner\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "create four A=1G by=1000\n"
             "  yes, four: save tell(created) make(A=1G)\n");
}

static void nobody_makes_a_session_for_another_but_an_administrator(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G by=1000 owner=1001\n"
             "  bad owner\n"
             "create one A=1G by=0 owner=1001\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create two A=1G by=1000 owner=1001 admin\n"
             "  yes, two: save tell(created) make(A=1G)\n"
             "show two\n"
             "  open uid 1001 v1 A=1G weight 100 priority 1 on-end deny-new\n");
}

static void a_name_is_taken_by_whomever_and_until_nothing_is_left(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=1G by=1000\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "create one A=1G by=1000\n"
             "  exists name\n"
             "create one A=1G by=1001\n"
             "  exists name\n"
             "release one by=1000\n"
             "  yes, one: save tell(released) shut\n"
             "create one A=1G by=1001\n"
             "  exists name\n"
             "empty one\n"
             "  yes, one: remove forget tell(gone)\n"
             "create one A=1G by=1001\n"
             "  yes, one: save tell(created) make(A=1G)\n");
}

static void what_makes_no_sense_is_refused_by_its_name(void **state)
{
        play("gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "gpu B\n"
             "  no-gpu gpu: B wants 0G, free 0G\n"
             "gpu C 0G\n"
             "  bad gpu\n"
             "create one A=0G\n"
             "  bad memory\n"
             "create one A=1G weight=0\n"
             "  bad weight\n"
             "create one A=1G weight=10001\n"
             "  bad weight\n"
             "create one A=1G priority=3\n"
             "  bad priority\n"
             "create one A=1G/100001\n"
             "  bad compute\n"
             "create one A=1G/0/100001\n"
             "  bad guarantee\n"
             "create one A=1G/50000/50001\n"
             "  bad guarantee\n"
             "create one A=1G/0/100000\n"
             "  yes, one: save tell(created) make(A=1G)\n"
             "policy ratio percent=99\n"
             "  bad ratio\n"
             "policy ratio percent=10001\n"
             "  bad ratio\n"
             "policy strict ttl=10 most=9\n"
             "  bad ttl\n"
             "show one\n"
             "  open uid 1000 v1 A=1G/0/100000 weight 100 priority 1 on-end deny-new\n");
}

static void a_new_policy_puts_nobody_out(void **state)
{
        play("policy none\n"
             "  yes\n"
             "gpu A 16G\n"
             "  yes tell(gpu-here)\n"
             "create one A=16G\n"
             "  yes, one: save tell(created) make(A=16G)\n"
             "create two A=16G\n"
             "  yes, two: save tell(created) make(A=16G)\n"
             "policy strict owner-most=1\n"
             "  yes\n"
             "room A\n"
             "  promised 32G, room 0G\n"
             "show two\n"
             "  open uid 1000 v1 A=16G weight 100 priority 1 on-end deny-new\n"
             "create three A=1 by=1001\n"
             "  no-room memory: A wants 1, free 0G\n");
}

/* So a container does not use up what root's own sessions may make the daemon do. */
static void a_container_pays_for_itself_though_its_session_is_roots(void **state)
{
        struct sessions_one one = { .id = { 1 } }, other;

        assert_int_equal(sessions_payer(&one), 0);
        strcpy(one.container.profile, "4GiB");
        strcpy(one.container.id, "4f2a");
        other = one;
        other.id[0]++; /* it was started again */
        assert_int_equal(sessions_payer(&one), sessions_payer(&other));
        strcpy(other.container.id, "4f2b");
        assert_true(sessions_payer(&one) > UINT32_MAX && sessions_payer(&one) < INT64_MAX);
        assert_true(sessions_payer(&one) != sessions_payer(&other));
        other = (struct sessions_one){ .owner_uid = 1000 };
        assert_int_equal(sessions_payer(&other), 1000);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_promised_is_never_more_than_the_card),
                cmocka_unit_test(what_a_session_had_is_free_when_nothing_of_it_is_left),
                cmocka_unit_test(a_lowered_limit_gives_back_what_nobody_holds_any_more),
                cmocka_unit_test(a_lowered_limit_may_be_raised_to_what_it_counts_for),
                cmocka_unit_test(a_session_that_ends_counts_for_what_it_holds),
                cmocka_unit_test(sessions_that_swap_count_as_the_largest_of_them),
                cmocka_unit_test(a_plain_session_leaves_the_room_of_those_that_swap),
                cmocka_unit_test(who_swaps_gets_no_room_where_too_much_is_promised),
                cmocka_unit_test(what_swaps_has_one_gpu_and_nothing_in_the_host_besides),
                cmocka_unit_test(those_that_swap_are_spread_over_the_cards),
                cmocka_unit_test(a_reserve_is_promised_to_nobody),
                cmocka_unit_test(
                        a_ratio_lets_all_together_have_more_than_the_card_and_nobody_alone),
                cmocka_unit_test(without_a_bound_only_a_single_session_is_held_to_the_card),
                cmocka_unit_test(sums_near_two_to_the_64_do_not_wrap),
                cmocka_unit_test(a_session_on_several_gpus_gets_all_or_nothing),
                cmocka_unit_test(a_gpu_that_is_named_must_be_here_and_named_once),
                cmocka_unit_test(best_fit_takes_the_least_room_that_is_enough),
                cmocka_unit_test(least_loaded_takes_the_most_room),
                cmocka_unit_test(equals_are_taken_in_the_order_of_the_cards),
                cmocka_unit_test(without_a_bound_cards_that_are_full_are_chosen_last),
                cmocka_unit_test(a_least_room_before_it_keeps_a_session_off_cards_in_use),
                cmocka_unit_test(several_gpus_that_are_chosen_are_different_ones),
                cmocka_unit_test(a_gpu_that_is_gone_is_neither_chosen_nor_forgotten),
                cmocka_unit_test(the_place_of_a_gpu_that_is_gone_can_be_another_s),
                cmocka_unit_test(an_owner_has_no_more_sessions_than_the_policy_says),
                cmocka_unit_test(nobody_makes_a_session_for_another_but_an_administrator),
                cmocka_unit_test(a_name_is_taken_by_whomever_and_until_nothing_is_left),
                cmocka_unit_test(what_makes_no_sense_is_refused_by_its_name),
                cmocka_unit_test(a_new_policy_puts_nobody_out),
                cmocka_unit_test(a_container_pays_for_itself_though_its_session_is_roots),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
