/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submissions come to weigh what they take, what is not known is a round by itself, and never are
 * more than four rounds in flight.
 */
#include "shim/time/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

struct kernels {
        uint32_t hint;
        uint64_t ns;
};

static uint64_t round_done_ns[WINDOW_ROUNDS];

/* A program that submits such kernels, as many as it may, until `end_ns`; a look finds each round
 * as it is over. Returns the most that was in flight, in the second half. */
static uint64_t play(struct window *window, struct kernels kernels, uint64_t begin_ns,
                     uint64_t end_ns)
{
        uint64_t done_ns = begin_ns, now_ns = begin_ns, max_ns = 0;

        window_clear(window);
        while (now_ns < end_ns) {
                struct window_wish wish = { kernels.hint, WINDOW_TARGET_NS, now_ns };
                uint32_t weight = window_weight(kernels.hint), units;

                while ((units = window_take(window, &wish)))
                        done_ns = (done_ns > now_ns ? done_ns : now_ns) +
                                  units / (weight ? weight : 1) * kernels.ns;
                if (window_is_due(window)) {
                        round_done_ns[window_close(window)] = done_ns;
                        continue;
                }
                if (now_ns > (begin_ns + end_ns) / 2 && done_ns - now_ns > max_ns)
                        max_ns = done_ns - now_ns;
                now_ns = round_done_ns[window->first];
                window_pass(window, 1, &(struct window_looks){ now_ns, now_ns, 0 });
        }
        return max_ns;
}

static void assert_weighs(struct kernels kernels)
{
        uint64_t weight_ns = window_weight(kernels.hint) * WINDOW_UNIT_NS;

        assert_in_range(weight_ns, kernels.ns / 2, kernels.ns * 2);
}

static void a_submission_comes_to_weigh_what_it_takes(void **state)
{
        struct window window = { 0 };

        play(&window, (struct kernels){ 1, 5 * US }, MS, 200 * MS);
        assert_weighs((struct kernels){ 1, 5 * US });
        play(&window, (struct kernels){ 1, 400 * US }, 300 * MS, 9000 * MS);
        assert_weighs((struct kernels){ 1, 400 * US });
}

/* Also right after thousands of short ones. */
static void what_was_never_weighed_is_a_round(void **state)
{
        struct window window = { 0 };
        uint64_t max_ns;

        play(&window, (struct kernels){ 2, 5 * US }, MS, 200 * MS);
        max_ns = play(&window, (struct kernels){ 3, 50 * MS }, 200 * MS, 3000 * MS);
        assert_in_range(max_ns, 50 * MS, (WINDOW_ROUNDS + 1) * 50 * MS);
        assert_int_equal(window_weight(3), WINDOW_WEIGHT_MAX);
}

/* It was learned before: a change of what is submitted is no surprise. */
static void what_is_known_spends_its_weight_among_others(void **state)
{
        struct window window = { 0 };
        struct window_wish short_one = { 4, WINDOW_TARGET_NS, 0 };
        struct window_wish long_one = { 5, WINDOW_TARGET_NS, 0 };

        play(&window, (struct kernels){ 4, 5 * US }, MS, 200 * MS);
        play(&window, (struct kernels){ 5, 1 * MS }, 200 * MS, 900 * MS);
        window_clear(&window);
        assert_in_range(window_take(&window, &short_one), 1, WINDOW_TARGET_NS / WINDOW_UNIT_NS / 2);
        assert_in_range(window_take(&window, &long_one) * WINDOW_UNIT_NS, MS / 2, 2 * MS);
        assert_int_equal(window_take(&window, &(struct window_wish){ 6, WINDOW_TARGET_NS, 0 }), 0);
        assert_true(window_is_due(&window));
}

static void no_more_than_four_rounds_and_what_fills_the_next_are_in_flight(void **state)
{
        struct window window = { 0 };
        uint64_t max_ns = play(&window, (struct kernels){ 7, 20 * US }, MS, 1000 * MS);

        assert_in_range(max_ns, WINDOW_TARGET_NS, (WINDOW_ROUNDS + 1) * 2 * WINDOW_TARGET_NS);
}

/* Each round costs a marker and a few questions. */
static void beside_others_two_rounds_are_in_flight(void **state)
{
        struct window window = { 0 };
        struct window_wish wish = { .hint = 10, .target_ns = MS, .now_ns = 0, .is_shared = true };

        play(&window, (struct kernels){ 10, 200 * US }, MS, 200 * MS);
        window_clear(&window);
        for (unsigned i = 0; i < WINDOW_SHARED_ROUNDS; i++) {
                while (window_take(&window, &wish))
                        ;
                assert_true(window_is_due(&window));
                window_close(&window);
        }
        assert_int_equal(window_take(&window, &wish), 0);
        wish.is_shared = false;
        assert_int_not_equal(window_take(&window, &wish), 0);
}

/* By halves of what should be left, and the less often the longer it has been due. Where weights
 * are not known it is asked all the time. */
static void the_end_of_a_turn_is_looked_for_the_more_often_the_nearer_it_should_be(void **state)
{
        struct window window = { 0 };
        struct window_wish known = { 11, WINDOW_TARGET_NS, MS },
                           unknown = { 4000, WINDOW_TARGET_NS, MS };
        uint64_t ns, end_ns;

        play(&window, (struct kernels){ 11, 200 * US }, MS, 200 * MS);
        window_clear(&window);
        ns = window_take(&window, &known) * WINDOW_UNIT_NS;
        assert_int_equal(window_over_ns(&window, MS), MS + ns / 2);
        end_ns = MS + ns;
        assert_int_equal(window_over_ns(&window, 0), MS + ns / 2); /* before it began */
        assert_int_equal(window_over_ns(&window, end_ns - 200 * US), end_ns - 150 * US);
        assert_int_equal(window_over_ns(&window, end_ns - 60 * US), end_ns - 30 * US);
        assert_int_equal(window_over_ns(&window, end_ns - 5 * US), end_ns + 5 * US);
        assert_int_equal(window_over_ns(&window, end_ns), end_ns + 10 * US);
        assert_int_equal(window_over_ns(&window, end_ns + 100 * US), end_ns + 125 * US);
        assert_int_equal(window_over_ns(&window, 100 * MS), 100 * MS + 50 * US);
        window_close(&window);
        window_take(&window, &unknown);
        assert_int_equal(window_over_ns(&window, MS), MS + 50 * US);
}

static void what_was_not_used_is_given_out_again(void **state)
{
        struct window window = { 0 };
        struct window_wish wish = { 8, 100 * WINDOW_UNIT_NS, 0 };
        uint32_t taken = window_take(&window, &wish);

        assert_int_equal(taken, WINDOW_WEIGHT_MAX); /* it is not known */
        assert_int_equal(window_take(&window, &wish), 0);
        assert_true(window_is_due(&window));
        window_give_back(&window, taken);
        assert_int_equal(window_take(&window, &wish), taken);
        assert_int_equal(window_take_beyond(&window, &wish), taken);
        assert_int_equal(window.filling.units, 2 * taken);
}

/* Whenever somebody looks: what a look does not refute is believed. */
static void kernels_weigh_what_they_take_on_average(void **state)
{
        struct window window = { 0 };
        struct window_looks looks = { 0, 0, 0 };
        uint64_t done_ns = MS, end_ns[WINDOW_ROUNDS] = { 0 }, sum_ns = 0, count = 0;

        (void)state;
        for (looks.now_ns = MS; looks.now_ns < 100 * MS; looks.seen_ns = looks.now_ns) {
                struct window_wish wish = { 7, 50000, looks.now_ns };
                uint32_t passed = 0;

                while (window.count < WINDOW_ROUNDS && window_take(&window, &wish)) {
                        done_ns = (done_ns > looks.now_ns ? done_ns : looks.now_ns) + 100000;
                        end_ns[window_close(&window)] = done_ns;
                }
                looks.now_ns += 37000 + looks.now_ns / 1000 % 29 * 1000;
                while (passed < window.count &&
                       end_ns[(window.first + passed) % WINDOW_ROUNDS] <= looks.now_ns)
                        passed++;
                window_pass(&window, passed, &looks);
                if (looks.now_ns > 10 * MS) {
                        sum_ns += window_weight(7) * WINDOW_UNIT_NS;
                        count++;
                }
        }
        assert_in_range(sum_ns / count, 90000, 115000);
}

/* What stood behind another session's work is not heavier for that. */
static void a_round_that_saw_the_gate_shut_tells_no_weight(void **state)
{
        struct window window = { 0 };
        uint32_t before;

        (void)state;
        assert_int_not_equal(window_take(&window, &(struct window_wish){ 8, 50000, MS }), 0);
        window_close(&window);
        before = window_weight(8);
        window_pass(&window, 1, &(struct window_looks){ 2 * MS, 9 * MS, 2 * MS });
        assert_int_equal(window_weight(8), before);
}

/* A program whose looks are late, as a busy machine's are, or else it would come to have next to
 * nothing in flight. */
static void rounds_that_left_nothing_in_flight_make_nothing_heavier(void **state)
{
        struct window window = { 0 };
        struct window_wish wish = { 12, WINDOW_TARGET_NS, 0 };

        play(&window, (struct kernels){ 12, 50 * US }, MS, 200 * MS);
        for (wish.now_ns = 300 * MS; wish.now_ns < 500 * MS; wish.now_ns += 20 * MS) {
                uint64_t late_ns = wish.now_ns + 20 * MS;

                window_clear(&window);
                while (window_take(&window, &wish) || window_is_due(&window)) {
                        if (window_is_due(&window))
                                window_close(&window);
                }
                window_pass(&window, window.count, &(struct window_looks){ late_ns, late_ns, 0 });
        }
        assert_weighs((struct kernels){ 12, 50 * US });
}

static void fill(struct window *window, const struct window_wish *wish)
{
        while (window_take(window, wish))
                ;
        assert_true(window_is_due(window));
        window_close(window);
}

/* Of rounds that were filled together the last one says what all weigh: a burst that ends would
 * undo what its first rounds told, and kernels could but become lighter, down to nothing. */
static void nor_do_they_undo_what_the_rounds_before_them_told(void **state)
{
        const struct window_wish wish = { 13, WINDOW_TARGET_NS, 300 * MS };
        const uint64_t late_ns = 10 * WINDOW_TARGET_NS;
        struct window window = { 0 };
        uint32_t before;

        (void)state;
        play(&window, (struct kernels){ 13, 50 * US }, MS, 200 * MS);
        window_clear(&window);
        before = window_weight(13);
        fill(&window, &wish);
        fill(&window, &wish);
        window_pass(&window, 1,
                    &(struct window_looks){ wish.now_ns + late_ns, wish.now_ns + late_ns, 0 });
        assert_true(window_weight(13) > before);
        window_pass(
                &window, 1,
                &(struct window_looks){ wish.now_ns + 2 * late_ns, wish.now_ns + 2 * late_ns, 0 });
        assert_true(window_weight(13) > before);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(kernels_weigh_what_they_take_on_average),
                cmocka_unit_test(a_round_that_saw_the_gate_shut_tells_no_weight),
                cmocka_unit_test(rounds_that_left_nothing_in_flight_make_nothing_heavier),
                cmocka_unit_test(nor_do_they_undo_what_the_rounds_before_them_told),
                cmocka_unit_test(a_submission_comes_to_weigh_what_it_takes),
                cmocka_unit_test(what_was_never_weighed_is_a_round),
                cmocka_unit_test(what_is_known_spends_its_weight_among_others),
                cmocka_unit_test(no_more_than_four_rounds_and_what_fills_the_next_are_in_flight),
                cmocka_unit_test(beside_others_two_rounds_are_in_flight),
                cmocka_unit_test(
                        the_end_of_a_turn_is_looked_for_the_more_often_the_nearer_it_should_be),
                cmocka_unit_test(what_was_not_used_is_given_out_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
