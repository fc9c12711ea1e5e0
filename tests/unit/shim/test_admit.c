/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of the gate: who may launch how much, and what the others wait for.
 */
#include "shim/admit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "shim/bank.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define SECOND (1000 * MS)
#define START (1000 * SECOND)
#define HALF (PAGE_WHOLE_PPM / 2)

static struct limits_page limits;
static struct slots_page *slots;
static struct admit first, second;

static int capped_at_half(void **state)
{
        free(slots);
        slots = calloc(1, sizeof(*slots));
        limits = (struct limits_page){ 0 };
        limits.device[0].cap_ppm = HALF;
        first = (struct admit){ &limits, &limits.device[0], slots, &slots->meter[0], 1 };
        second = first;
        second.slot = 2;
        return slots ? 0 : -1;
}

static struct admit_ask ask_for(uint64_t piece_ns)
{
        return (struct admit_ask){ .piece_ns = piece_ns,
                                   .careful_ns = piece_ns,
                                   .pieces = ADMIT_PIECES };
}

static struct admit_answer asked(const struct admit *admit, uint64_t piece_ns, uint64_t now_ns)
{
        struct admit_ask ask = ask_for(piece_ns);

        return admit_ask(admit, &ask, now_ns);
}

static void leased(uint32_t mode, uint64_t end_ns, uint64_t target_ns)
{
        limits.scheduler_at_ns = START;
        limits.device[0].lease.mode = mode;
        limits.device[0].lease.end_ns = end_ns;
        limits.device[0].lease.target_ns = target_ns;
        limits.device[0].lease.turn += 2;
}

static void without_cap_and_scheduler_nothing_is_counted(void **state)
{
        struct terms terms;

        limits.device[0].cap_ppm = 0;
        terms = admit_terms(&first, START);
        assert_false(terms_are_strict(&terms));
        limits.device[0].cap_ppm = PAGE_WHOLE_PPM + 7;
        terms = admit_terms(&first, START);
        assert_false(terms_are_strict(&terms));
        limits.device[0].cap_ppm = 1;
        terms = admit_terms(&first, START);
        assert_true(terms_are_strict(&terms));
}

static void a_device_without_a_cap_of_its_own_has_the_default(void **state)
{
        limits.device[0].cap_ppm = 0;
        limits.default_cap_ppm = HALF;
        assert_int_equal(admit_terms(&first, START).cap_ppm, HALF);
        limits.device[0].cap_ppm = PAGE_WHOLE_PPM;
        assert_int_equal(admit_terms(&first, START).cap_ppm, PAGE_WHOLE_PPM);
}

/* Its neighbours may come at any time: they would stand behind what is queued. */
static void alone_in_a_daemons_session_only_what_is_in_flight_is_bounded(void **state)
{
        struct admit_ask ask = ask_for(1 * MS);
        struct terms terms;

        limits.device[0].cap_ppm = 0;
        limits.owner = PAGE_OWNER_DAEMON;
        terms = admit_terms(&first, START);
        assert_true(terms_are_strict(&terms) && terms_are_loose(&terms));
        ask.in_flight_ns = 9 * MS;
        assert_int_equal(admit_ask(&first, &ask, START).reason, ADMIT_GRANTED);
        ask.in_flight_ns = ask.left_ns = 10 * MS;
        assert_int_equal(admit_ask(&first, &ask, START).reason, ADMIT_WINDOW);
        limits.device[0].cap_ppm = HALF;
        terms = admit_terms(&first, START);
        assert_false(terms_are_loose(&terms));
}

/* An rt session that answers now and then would find 10 ms of somebody else's work. */
static void alone_beside_who_may_come_no_more_is_in_flight_than_the_scheduler_says(void **state)
{
        limits.device[0].cap_ppm = 0;
        leased(PAGE_MODE_FREE, 0, 170 * US);
        assert_int_equal(admit_terms(&first, START).target_ns, 170 * US);
        leased(PAGE_MODE_FREE, 0, 20 * MS);
        assert_int_equal(admit_terms(&first, START).target_ns, ADMIT_LOOSE_NS);
        leased(PAGE_MODE_FREE, 0, 0);
        assert_int_equal(admit_terms(&first, START).target_ns, ADMIT_LOOSE_NS);
        leased(PAGE_MODE_FREE, 0, 170 * US);
        assert_int_equal(admit_terms(&first, START + SECOND).target_ns, ADMIT_LOOSE_NS);
}

/* The turn says that work is in flight; two processes need not wait for each other. */
static void without_a_cap_a_turn_is_taken_and_not_waited_for(void **state)
{
        limits.device[0].cap_ppm = 0;
        limits.owner = PAGE_OWNER_DAEMON;
        assert_int_equal(asked(&first, 10 * US, START).reason, ADMIT_GRANTED);
        assert_int_equal(first.meter->turn & PAGE_TURN_SLOT, first.slot);
        assert_int_equal(asked(&second, 10 * US, START).reason, ADMIT_GRANTED);
        admit_yield(&first, START);
        assert_int_equal(asked(&second, 10 * US, START).reason, ADMIT_GRANTED);
        assert_int_equal(first.meter->turn & PAGE_TURN_SLOT, second.slot);
}

/* Else two processes at once, which may use more than the whole, would owe it to a later cap. */
static void what_is_used_without_a_cap_is_not_owed_to_a_later_one(void **state)
{
        limits.device[0].cap_ppm = 0;
        limits.owner = PAGE_OWNER_DAEMON;
        asked(&first, 1 * MS, START);
        admit_settle(&first, 1 * MS, 3 * SECOND, 1, START);
        assert_int_equal(first.meter->busy_ns, 3 * SECOND);
        assert_int_equal(bank_level_ns(first.meter, HALF, START), bank_top_ns(HALF));
}

static void a_grant_is_a_quarter_of_the_window_at_most(void **state)
{
        assert_int_equal(asked(&first, 100 * US, START).pieces, 50);
        assert_int_equal(asked(&first, 1 * US, START).pieces, ADMIT_PIECES);
}

static void a_grant_tells_how_much_may_be_in_flight(void **state)
{
        asked(&first, 100 * US, START);
        assert_int_equal(first.meter->window, 200);
        leased(PAGE_MODE_OPEN, START + 2 * MS, 2 * MS);
        asked(&first, 100 * US, START);
        assert_int_equal(first.meter->window, 20);
        asked(&first, 3 * MS, START);
        assert_int_equal(first.meter->window, 1);
}

static void a_grant_is_paid_for_at_once(void **state)
{
        asked(&first, 100 * US, START);
        assert_int_equal(bank_level_ns(first.meter, HALF, START), 5 * MS);
        admit_refund(&first, 1 * MS, START);
        assert_int_equal(bank_level_ns(first.meter, HALF, START), 6 * MS);
        admit_settle(&first, 4 * MS, 6 * MS, 40, START);
        assert_int_equal(bank_level_ns(first.meter, HALF, START), 4 * MS);
        assert_int_equal(first.meter->busy_ns, 6 * MS);
        assert_int_equal(first.meter->launches, 40);
}

static void an_empty_bank_says_when_it_is_worth_asking_again(void **state)
{
        struct admit_ask ask = ask_for(100 * US);
        struct admit_answer answer;

        bank_charge(first.meter, HALF, START, 10 * (int64_t)MS);
        answer = admit_ask(&first, &ask, START);
        assert_int_equal(answer.reason, ADMIT_BANK);
        assert_int_equal(answer.deadline_ns, START + 2);
        ask.waited_ns = 1;
        answer = admit_ask(&first, &ask, START + 2);
        assert_int_equal(answer.reason, ADMIT_BANK);
        assert_int_equal(answer.deadline_ns, START + 5 * MS);
        assert_int_equal(admit_ask(&first, &ask, START + 5 * MS).pieces, 25);
}

/* Another process may take each drop as it falls. */
static void who_has_waited_long_takes_what_there_is(void **state)
{
        struct admit_ask ask = ask_for(100 * US);

        bank_charge(first.meter, HALF, START, 10 * (int64_t)MS);
        ask.waited_ns = 10 * MS;
        assert_int_equal(admit_ask(&first, &ask, START + 2).reason, ADMIT_GRANTED);
}

static void one_piece_longer_than_the_bucket_goes_when_there_is_no_debt(void **state)
{
        assert_int_equal(asked(&first, 300 * MS, START).pieces, 1);
        assert_int_equal(asked(&first, 300 * MS, START + 300 * MS).reason, ADMIT_BANK);
        assert_int_equal(asked(&first, 300 * MS, START + 580 * MS + 2).pieces, 1);
}

static void what_is_in_flight_is_bounded(void **state)
{
        struct admit_ask ask = ask_for(1 * MS);

        ask.in_flight_ns = 19 * MS;
        assert_int_equal(admit_ask(&first, &ask, START).reason, ADMIT_GRANTED);
        ask.in_flight_ns = ask.left_ns = 20 * MS;
        assert_int_equal(admit_ask(&first, &ask, START).reason, ADMIT_WINDOW);
        ask.left_ns = 19 * MS; /* of which 1 ms is done, though nobody saw it yet */
        assert_int_equal(admit_ask(&first, &ask, START).reason, ADMIT_GRANTED);
        ask.in_flight_ns = ask.left_ns = 0;
        ask.piece_ns = ask.careful_ns = 1 * SECOND;
        assert_int_equal(admit_ask(&first, &ask, START).reason, ADMIT_GRANTED);
}

/* Who yields is waited for no longer than one of them and the target. */
static void of_pieces_longer_than_the_target_the_next_comes_before_the_end(void **state)
{
        struct admit_ask ask = ask_for(500 * US);
        struct admit_answer answer;

        leased(PAGE_MODE_OPEN, START + 2 * MS, 170 * US);
        assert_int_equal(admit_ask(&first, &ask, START).pieces, 1);
        ask.in_flight_ns = ask.left_ns = ask.look_ns = 500 * US;
        answer = admit_ask(&first, &ask, START);
        assert_int_equal(answer.reason, ADMIT_WINDOW);
        assert_true(answer.deadline_ns <= START + 330 * US);
        ask.left_ns = 170 * US;
        assert_int_equal(admit_ask(&first, &ask, START + 330 * US).pieces, 1);
}

/* Who is in debt is not let through because nothing moves: the bank fills by itself. */
static void a_full_window_tells_of_a_debt(void **state)
{
        struct admit_ask ask = ask_for(3 * SECOND);

        ask.is_stuck = true;
        assert_int_equal(admit_ask(&first, &ask, START).reason, ADMIT_WINDOW);
        assert_false(admit_ask(&first, &ask, START).is_owing);
        admit_settle(&first, 0, 3 * SECOND, 1, START);
        assert_int_equal(admit_ask(&first, &ask, START).reason, ADMIT_WINDOW);
        assert_true(admit_ask(&first, &ask, START).is_owing);
}

/* Slow to be paid off, and then another cap: what was waited for counts at the old one. */
static void a_debt_is_paid_at_the_cap_that_holds(void **state)
{
        struct admit_ask ask = ask_for(1 * MS);

        limits.device[0].cap_ppm = HALF / 5;
        bank_charge(first.meter, HALF / 5, START, 12 * (int64_t)MS);
        for (uint64_t at = 0; at <= 50 * MS; at += 5 * MS)
                assert_int_equal(admit_ask(&first, &ask, START + at).reason, ADMIT_BANK);
        limits.device[0].cap_ppm = HALF;
        assert_int_equal(bank_level_ns(first.meter, HALF, START + 50 * MS), -5 * (int64_t)MS);
}

/* The scheduler's own account has it. */
static void what_is_owed_for_leases_is_bounded(void **state)
{
        leased(PAGE_MODE_OPEN, START + 2 * MS, 4 * MS);
        admit_settle(&first, 0, 100 * SECOND, 1, START);
        assert_int_equal(bank_level_ns(first.meter, HALF, START), -10 * (int64_t)SECOND);
}

static void processes_take_turns(void **state)
{
        struct admit_answer answer;

        assert_int_equal(asked(&first, 10 * US, START).reason, ADMIT_GRANTED);
        answer = asked(&second, 10 * US, START + 1 * MS);
        assert_int_equal(answer.reason, ADMIT_TURN);
        assert_int_equal(answer.deadline_ns, START + 10 * MS);
        /* For the dead; who lives gives it up, and the other has it at once. */
        assert_int_equal(asked(&second, 10 * US, START + 10 * MS).reason, ADMIT_GRANTED);
        assert_int_equal(asked(&first, 10 * US, START + 11 * MS).reason, ADMIT_TURN);
}

static void who_had_the_turn_stands_back_for_who_wants_it(void **state)
{
        struct admit_ask ask = ask_for(10 * US);
        struct admit_answer answer;

        asked(&first, 10 * US, START);
        asked(&second, 10 * US, START + 1 * MS);
        answer = admit_ask(&first, &ask, START + 5 * MS);
        assert_int_equal(answer.reason, ADMIT_TURN);
        assert_true(answer.deadline_ns < START + 6 * MS);
        assert_false(first.meter->turn & PAGE_TURN_TAKEN);
        ask.has_stood_back = true;
        assert_int_equal(admit_ask(&first, &ask, answer.deadline_ns).reason, ADMIT_GRANTED);
}

static void processes_that_wait_for_the_bank_go_one_after_the_other(void **state)
{
        asked(&first, 10 * US, START);
        bank_charge(first.meter, HALF, START, 30 * (int64_t)MS);
        assert_int_equal(asked(&first, 10 * US, START + 6 * MS).reason, ADMIT_BANK);
        assert_int_equal(asked(&second, 10 * US, START + 7 * MS).reason, ADMIT_BANK);
        assert_int_equal(asked(&second, 10 * US, START + 40 * MS).reason, ADMIT_BANK);
        assert_int_equal(asked(&first, 10 * US, START + 51 * MS).reason, ADMIT_TURN);
        assert_int_equal(asked(&second, 10 * US, START + 51 * MS).reason, ADMIT_GRANTED);
}

static void who_is_alone_keeps_the_turn(void **state)
{
        for (uint64_t at = 0; at < 50; at++)
                assert_int_equal(asked(&first, 10 * US, START + at * MS).reason, ADMIT_GRANTED);
}

static void a_turn_given_up_is_another_s_at_once(void **state)
{
        asked(&first, 10 * US, START);
        admit_yield(&first, START + 1 * MS);
        assert_int_equal(asked(&second, 10 * US, START + 1 * MS).reason, ADMIT_GRANTED);
}

static void a_turn_that_nobody_could_have_taken_is_not_waited_for(void **state)
{
        first.meter->turn = UINT64_MAX;
        assert_int_equal(asked(&first, 10 * US, START).reason, ADMIT_GRANTED);
}

static void a_closed_lease_is_waited_for_and_rung_for(void **state)
{
        uint32_t bell = slots->bell;
        struct admit_answer answer;

        leased(PAGE_MODE_CLOSED, 0, 0);
        answer = asked(&first, 10 * US, START);
        assert_int_equal(answer.reason, ADMIT_LEASE);
        assert_ptr_equal(answer.word, &limits.device[0].lease.turn);
        assert_int_equal(answer.seen, limits.device[0].lease.turn);
        assert_int_equal(first.meter->wanted_at_ns, START);
        assert_int_equal(slots->bell, bell + 1);
        asked(&first, 10 * US, START + 1 * MS); /* known already */
        assert_int_equal(slots->bell, bell + 1);
        /* It was let in, and did not come back until the scheduler took it that it will not. */
        leased(PAGE_MODE_CLOSED, START + 2 * MS, 0);
        asked(&first, 10 * US, START + 3 * MS);
        assert_int_equal(slots->bell, bell + 2);
        asked(&first, 10 * US, START + 4 * MS); /* until it says that it knows */
        assert_int_equal(slots->bell, bell + 3);
        leased(PAGE_MODE_CLOSED, 0, 0);
        asked(&first, 10 * US, START + 5 * MS);
        assert_int_equal(slots->bell, bell + 3);
}

/* The scheduler lets the next one in then, although this process wakes up late. */
static void whose_lease_is_over_says_when_it_will_be_done(void **state)
{
        struct admit_ask ask = ask_for(100 * US);
        uint32_t bell;

        leased(PAGE_MODE_OPEN, START + 2 * MS, 2 * MS);
        assert_int_equal(admit_ask(&first, &ask, START).reason, ADMIT_GRANTED);
        assert_int_equal(page_turn_until_ns(first.meter->turn), START + 10 * MS);
        leased(PAGE_MODE_CLOSED, 0, 0);
        ask.in_flight_ns = ask.left_ns = 1600 * US;
        admit_ask(&first, &ask, START + 2 * MS);
        assert_int_equal(page_turn_until_ns(first.meter->turn), START + 10 * MS);
        ask.is_sure = true;
        bell = slots->bell;
        assert_int_equal(admit_ask(&first, &ask, START + 2 * MS).reason, ADMIT_LEASE);
        assert_int_equal(page_turn_until_ns(first.meter->turn), START + 3800 * US);
        assert_int_equal(slots->bell, bell + 1);
        /* Once is enough, and another's turn is not touched. */
        ask.left_ns = 1500 * US;
        admit_ask(&first, &ask, START + 2100 * US);
        assert_int_equal(slots->bell, bell + 1);
        admit_ask(&second, &ask, START + 2100 * US);
        assert_int_equal(page_turn_until_ns(first.meter->turn), START + 3800 * US);
}

static void who_is_done_rings_unless_nobody_waits_for_it(void **state)
{
        uint32_t bell;

        limits.device[0].cap_ppm = 0;
        leased(PAGE_MODE_OPEN, START + 2 * MS, 2 * MS);
        asked(&first, 10 * US, START);
        leased(PAGE_MODE_CLOSED, 0, 0);
        bell = slots->bell;
        admit_yield(&first, START + 3 * MS);
        assert_int_equal(slots->bell, bell + 1);
        leased(PAGE_MODE_OPEN, START + 9 * MS, 2 * MS);
        asked(&first, 10 * US, START + 7 * MS);
        leased(PAGE_MODE_CLOSED, 0, 1);
        admit_yield(&first, START + 9 * MS);
        assert_int_equal(slots->bell, bell + 1);
        assert_false(first.meter->turn & PAGE_TURN_TAKEN);
}

/* Not when it goes on after a moment, or another process of the session does. */
static void a_turn_says_when_it_began_after_others(void **state)
{
        asked(&first, 10 * US, START);
        assert_int_equal(first.meter->began_at_ns, START);
        admit_note_active(&first, START + 1 * MS);
        asked(&first, 10 * US, START + 1 * MS);
        admit_yield(&first, START + 1 * MS);
        asked(&second, 10 * US, START + 1 * MS + 500 * US);
        assert_int_equal(first.meter->began_at_ns, START);
        admit_yield(&second, START + 2 * MS);
        asked(&first, 10 * US, START + 6 * MS);
        assert_int_equal(first.meter->began_at_ns, START + 6 * MS);
}

/* As long as there is a scheduler to say so. */
static void what_began_before_others_were_gone_may_be_theirs(void **state)
{
        leased(PAGE_MODE_OPEN, START + 2 * MS, 2 * MS);
        assert_false(admit_is_shared(&first, START, START + 1 * MS));
        limits.device[0].lease.shared_until_ns = UINT64_MAX;
        assert_true(admit_is_shared(&first, START, START + 1 * MS));
        limits.device[0].lease.shared_until_ns = START + 1 * MS;
        assert_true(admit_is_shared(&first, START, START + 2 * MS));
        assert_false(admit_is_shared(&first, START + 1 * MS, START + 2 * MS));
        assert_false(admit_is_shared(&first, START, START + PAGE_SCHEDULER_SILENT_NS));
}

static void an_open_lease_bounds_what_begins(void **state)
{
        leased(PAGE_MODE_OPEN, START + 2 * MS, 4 * MS);
        assert_int_equal(asked(&first, 100 * US, START).pieces, 10);
        assert_int_equal(asked(&first, 100 * US, START + 1900 * US).pieces, 1);
        assert_int_equal(asked(&first, 100 * US, START + 2 * MS).reason, ADMIT_LEASE);
}

static void a_silent_scheduler_is_not_obeyed(void **state)
{
        leased(PAGE_MODE_CLOSED, 0, 0);
        assert_int_equal(asked(&first, 10 * US, START + PAGE_SCHEDULER_SILENT_NS).reason,
                         ADMIT_GRANTED);
}

static void a_lease_that_is_being_written_is_looked_at_again_soon(void **state)
{
        struct admit_answer answer;

        leased(PAGE_MODE_OPEN, START + SECOND, 0);
        limits.device[0].lease.turn++;
        answer = asked(&first, 10 * US, START);
        assert_int_equal(answer.reason, ADMIT_LEASE);
        assert_true(answer.deadline_ns - START < 1 * MS);
}

static void an_escape_is_paid_for_and_counted(void **state)
{
        struct admit_ask ask = ask_for(1 * MS);

        ask.pieces = 3;
        admit_escape(&first, &ask, START);
        assert_int_equal(first.meter->escapes, 1);
        assert_int_equal(bank_level_ns(first.meter, HALF, START), 7 * MS);
}

int main(void)
{
#define RULE(rule) cmocka_unit_test_setup(rule, capped_at_half)
        const struct CMUnitTest tests[] = {
                RULE(without_cap_and_scheduler_nothing_is_counted),
                RULE(a_device_without_a_cap_of_its_own_has_the_default),
                RULE(alone_in_a_daemons_session_only_what_is_in_flight_is_bounded),
                RULE(alone_beside_who_may_come_no_more_is_in_flight_than_the_scheduler_says),
                RULE(without_a_cap_a_turn_is_taken_and_not_waited_for),
                RULE(what_is_used_without_a_cap_is_not_owed_to_a_later_one),
                RULE(a_grant_is_a_quarter_of_the_window_at_most),
                RULE(a_grant_tells_how_much_may_be_in_flight),
                RULE(a_grant_is_paid_for_at_once),
                RULE(an_empty_bank_says_when_it_is_worth_asking_again),
                RULE(who_has_waited_long_takes_what_there_is),
                RULE(one_piece_longer_than_the_bucket_goes_when_there_is_no_debt),
                RULE(what_is_in_flight_is_bounded),
                RULE(of_pieces_longer_than_the_target_the_next_comes_before_the_end),
                RULE(a_full_window_tells_of_a_debt),
                RULE(a_debt_is_paid_at_the_cap_that_holds),
                RULE(what_is_owed_for_leases_is_bounded),
                RULE(processes_take_turns),
                RULE(who_had_the_turn_stands_back_for_who_wants_it),
                RULE(processes_that_wait_for_the_bank_go_one_after_the_other),
                RULE(who_is_alone_keeps_the_turn),
                RULE(a_turn_given_up_is_another_s_at_once),
                RULE(a_turn_that_nobody_could_have_taken_is_not_waited_for),
                RULE(a_closed_lease_is_waited_for_and_rung_for),
                RULE(whose_lease_is_over_says_when_it_will_be_done),
                RULE(who_is_done_rings_unless_nobody_waits_for_it),
                RULE(a_turn_says_when_it_began_after_others),
                RULE(what_began_before_others_were_gone_may_be_theirs),
                RULE(an_open_lease_bounds_what_begins),
                RULE(a_silent_scheduler_is_not_obeyed),
                RULE(a_lease_that_is_being_written_is_looked_at_again_soon),
                RULE(an_escape_is_paid_for_and_counted),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
