/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session that swaps may have on its card: who is admitted, who waits, who is refused.
 */
#include "double.h"
#include "shim/charge.h"
#include "shim/room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/atomic.h"
#include "common/clock.h"

enum { CARD, OUT, SWAP };

static void give(uint64_t resident_bytes, uint64_t max_bytes, uint64_t pinned_bytes)
{
        struct page_room *room = &double_limits()->device[CARD].lease.room;

        room->resident_bytes = resident_bytes;
        room->max_bytes = max_bytes;
        room->pinned_bytes = pinned_bytes;
        room->answered_at_ns = clock_now_ns();
}

static struct page_meter *meter(void)
{
        return &double_slots()->meter[CARD];
}

static int nothing_held(void **state)
{
        give(1000, 1000, 1000);
        memset(meter(), 0, sizeof(*meter()));
        assert_int_equal(double_used(CARD) + double_used(OUT) + double_used(SWAP), 0);
        return 0;
}

static void the_rows_are_known_by_their_names(void **state)
{
        struct room_rows rows = room_rows();

        assert_true(room_is_kept());
        assert_int_equal(rows.card, CARD);
        assert_int_equal(rows.out, OUT);
        assert_int_equal(rows.swap, SWAP);
        assert_int_equal(charge_host(), CHARGE_NO_DEVICE);
}

static void bytes_fit_by_what_the_page_says(void **state)
{
        struct room_books books = { .used_bytes = 500,
                                    .swappable_bytes = 300,
                                    .limit_bytes = 2000,
                                    .resident_bytes = 800,
                                    .max_bytes = 1000,
                                    .pinned_bytes = 400 };

        assert_int_equal(room_answer(&books, 300, ROOM_OF_SWAPPABLE), ROOM_FITS);
        assert_int_equal(room_answer(&books, 301, ROOM_OF_SWAPPABLE), ROOM_SHORT);
        assert_int_equal(room_answer(&books, 501, ROOM_OF_SWAPPABLE), ROOM_NEVER);
        assert_int_equal(room_answer(&books, UINT64_MAX, ROOM_OF_SWAPPABLE), ROOM_NEVER);
        assert_int_equal(room_answer(&books, 200, ROOM_OF_PINNED), ROOM_FITS);
        assert_int_equal(room_answer(&books, 201, ROOM_OF_PINNED), ROOM_PINNED);
        books.out_bytes = 300;
        assert_int_equal(room_answer(&books, 500, ROOM_OF_SWAPPABLE), ROOM_FITS);
        assert_int_equal(room_resident(&books), 200);
        assert_int_equal(room_excess(&books), 0);
        books.resident_bytes = 150;
        assert_int_equal(room_excess(&books), 50);
        books.limit_bytes = 600;
        assert_int_equal(room_answer(&books, 101, ROOM_OF_SWAPPABLE), ROOM_NEVER);
        books.out_bytes = 900; /* a page that lies */
        assert_int_equal(room_resident(&books), 0);
}

static void a_charge_that_does_not_fit_is_given_back(void **state)
{
        struct charge_swappable c;
        struct charge pinned;

        give(700, 800, 100);
        assert_false(charge_begin_swappable(&c, CARD, 701));
        assert_int_equal(double_used(CARD) + double_used(SWAP), 0);
        assert_true(charge_begin_swappable(&c, CARD, 600));
        assert_int_equal(double_used(CARD), 600);
        assert_int_equal(double_used(SWAP), 600);
        assert_false(charge_begin(&pinned, CARD, 101));
        assert_true(charge_begin(&pinned, CARD, 100));
        assert_int_equal(double_used(CARD), 700);
        charge_drop(&pinned);
        charge_drop_swappable(&c);
        give(0, 0, 0);
        assert_true(charge_force(&pinned, CARD, 100));
        charge_drop(&pinned);
}

static void what_moves_is_counted_out_and_unseen(void **state)
{
        struct charge_swappable c;

        assert_true(charge_begin_swappable(&c, CARD, 600));
        charge_move_begin(CARD);
        charge_move_out(CARD, 400);
        charge_move_end(CARD);
        assert_int_equal(double_used(OUT), 400);
        assert_int_equal(charge_unseen_bytes(CARD), 400);
        charge_move_in(CARD, 400);
        assert_int_equal(double_used(OUT), 0);
        assert_int_equal(charge_unseen_bytes(CARD), 0);
        charge_drop_swappable(&c);
}

static struct room_want want(uint64_t bytes, enum room_kind kind)
{
        return (struct room_want){ .row = CARD, .bytes = bytes, .kind = kind };
}

static void who_lacks_room_wishes_for_it_and_waits(void **state)
{
        struct room_want more = want(300, ROOM_OF_SWAPPABLE);
        struct room_wait wait = { 0 };
        struct charge_swappable c;
        uint64_t wished_ns;

        assert_true(charge_begin_swappable(&c, CARD, 600));
        give(700, 1000, 1000);
        assert_true(room_wait(&wait, &more));
        assert_int_equal(meter()->wished_resident_bytes, 900);
        assert_int_equal(meter()->wished_pinned_bytes, 0);
        wished_ns = meter()->wished_at_ns;
        assert_int_not_equal(wished_ns, 0);
        give(700, 1000, 1000); /* an answer, and no room: others are still moving */
        assert_true(room_wait(&wait, &more));
        assert_true(meter()->wished_at_ns > wished_ns);
        charge_drop_swappable(&c);
        assert_true(room_wait(&wait, &more));
}

/* The greatest of those that wait is there, until nobody repeats it. */
static void two_that_wait_wish_for_the_greater(void **state)
{
        struct room_want small = want(800, ROOM_OF_SWAPPABLE), great = want(900, ROOM_OF_PINNED);
        struct room_wait first = { 0 }, second = { 0 };

        give(700, 1000, 1000);
        do { /* on a busy machine the other one's may be too old by then */
                assert_true(room_wait(&second, &great));
                assert_true(room_wait(&first, &small));
        } while (meter()->wished_resident_bytes != 900);
        assert_int_equal(meter()->wished_pinned_bytes, 900);
        clock_sleep_ns(60000000);
        assert_true(room_wait(&first, &small));
        assert_int_equal(meter()->wished_resident_bytes, 800);
        assert_int_equal(meter()->wished_pinned_bytes, 0);
}

/* A request that waits on does not repeat the wish of a request that has gone: the daemon would
 * make room that nobody wants. */
static void a_wish_ends_with_its_request(void **state)
{
        struct room_want small = want(50, ROOM_OF_SWAPPABLE), great = want(900, ROOM_OF_PINNED);
        struct room_wait first = { 0 }, second = { 0 };

        give(10, 1000, 1000);
        assert_true(room_wait(&second, &great));
        for (unsigned i = 0; i < 20 && meter()->wished_resident_bytes != 50; i++)
                assert_true(room_wait(&first, &small));
        assert_int_equal(meter()->wished_resident_bytes, 50);
        assert_int_equal(meter()->wished_pinned_bytes, 0);
}

/* The daemon's answer is about the wish in the page. A smaller request, which could be met, is not
 * refused by the answer to a larger one. */
static void an_answer_refuses_the_wish_in_the_page_alone(void **state)
{
        struct room_want small = want(150, ROOM_OF_PINNED), great = want(900, ROOM_OF_PINNED);
        struct room_wait first = { 0 }, second = { 0 };

        give(1000, 1000, 100);
        assert_true(room_wait(&first, &small));
        for (unsigned i = 0; i < 10; i++) {
                assert_true(room_wait(&second, &great));
                clock_sleep_ns(1000);
                give(1000, 1000, 100);
                assert_true(room_wait(&first, &small));
                second = (struct room_wait){ 0 }; /* another such request */
        }
}

static unsigned tries(const struct room_want *more)
{
        struct room_wait wait = { 0 };
        unsigned count = 0;

        while (room_wait(&wait, more) && count < 100)
                count++;
        return count;
}

static void what_can_never_fit_is_refused_without_a_wish(void **state)
{
        struct room_want more = want(1001, ROOM_OF_SWAPPABLE);

        assert_true(tries(&more) < 10);
        assert_int_equal(meter()->wished_at_ns, 0);
}

static void what_stays_is_refused_once_the_answer_is_no(void **state)
{
        struct room_want more = want(200, ROOM_OF_PINNED);
        struct room_wait wait = { 0 };

        give(1000, 1000, 100);
        for (unsigned i = 0; i < 5; i++)
                assert_true(room_wait(&wait, &more));
        clock_sleep_ns(1000);
        give(1000, 1000, 100);
        assert_true(tries(&more) > 3); /* that answer was to another one */
        for (unsigned i = 0; room_wait(&wait, &more); i++)
                assert_true(i < 10);
}

/* In a hold it stands as well as waits, and what fits is waited for until the hold is over. */
static void who_waits_in_a_hold_goes_on_wishing(void **state)
{
        struct room_want more = want(200, ROOM_OF_SWAPPABLE);
        struct room_wait wait = { 0 };

        more.is_held = true;
        for (unsigned i = 0; i < 8; i++)
                assert_true(room_wait(&wait, &more));
        assert_int_equal(meter()->wished_resident_bytes, 200);
        assert_int_not_equal(meter()->stood_at_ns, 0);
}

static int make(void **state)
{
        double_make(PAGE_UNLIMITED);
        memcpy(double_limits()->device[OUT].uuid, PAGE_HOST_NAME, 16);
        memcpy(double_limits()->device[SWAP].uuid, PAGE_SWAP_NAME, 16);
        double_limits()->flags = PAGE_SWAPS;
        return 0;
}

static int end(void **state)
{
        double_end();
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(the_rows_are_known_by_their_names, nothing_held),
                cmocka_unit_test_setup(bytes_fit_by_what_the_page_says, nothing_held),
                cmocka_unit_test_setup(a_charge_that_does_not_fit_is_given_back, nothing_held),
                cmocka_unit_test_setup(what_moves_is_counted_out_and_unseen, nothing_held),
                cmocka_unit_test_setup(who_lacks_room_wishes_for_it_and_waits, nothing_held),
                cmocka_unit_test_setup(two_that_wait_wish_for_the_greater, nothing_held),
                cmocka_unit_test_setup(a_wish_ends_with_its_request, nothing_held),
                cmocka_unit_test_setup(an_answer_refuses_the_wish_in_the_page_alone, nothing_held),
                cmocka_unit_test_setup(what_can_never_fit_is_refused_without_a_wish, nothing_held),
                cmocka_unit_test_setup(what_stays_is_refused_once_the_answer_is_no, nothing_held),
                cmocka_unit_test_setup(who_waits_in_a_hold_goes_on_wishing, nothing_held),
        };

        return cmocka_run_group_tests(tests, make, end);
}
