/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger, one operation at a time: what it refuses, and that no page can make it misbehave.
 *
 * What several processes do to each other is the model's part (tests/model).
 */
#include "core/ledger.h" /* before cmocka.h: it has a macro fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct slots_page slots;
static struct limits_page limits;

/* The locks of a world with one thread in it. */
static struct {
        bool live[PAGE_SLOTS], recover[PAGE_SLOTS];
        bool is_recover_busy;
        bool is_taken_over; /* between the look at a slot and its lock */
        bool is_rubbish;    /* the page: then nothing is for ever */
        unsigned retries, retries_left, reclaims;
} world;

static bool is_live(void *context, uint32_t slot)
{
        assert_true(slot < PAGE_SLOTS);
        return world.live[slot];
}

static bool try_recover(void *context, uint32_t slot)
{
        assert_true(slot < PAGE_SLOTS);
        if (world.is_recover_busy || world.recover[slot])
                return false;
        world.recover[slot] = true;
        if (world.is_taken_over)
                world.live[slot] = true;
        return true;
}

static void end_recover(void *context, uint32_t slot)
{
        assert_true(world.recover[slot]);
        world.recover[slot] = false;
}

static bool take_live(void *context, uint32_t slot)
{
        assert_true(world.recover[slot]);
        world.live[slot] = true;
        return true;
}

static void note_reclaim(void *context, unsigned device, uint64_t bytes)
{
        world.reclaims++;
}

static bool may_retry(void *context, bool is_busy)
{
        world.retries++;
        if (!is_busy && !world.is_rubbish)
                return true;
        if (world.retries_left == 0)
                return false;
        world.retries_left--;
        return true;
}

static const struct ledger_ports ports = { is_live,   try_recover,  end_recover,
                                           take_live, note_reclaim, may_retry };
static const struct ledger ledger = { &slots, &limits, &ports, NULL };

static int empty_page(void **state)
{
        memset(&slots, 0, sizeof(slots));
        memset(&limits, 0, sizeof(limits));
        memset(&world, 0, sizeof(world));
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                limits.device[i].limit_bytes = 100;
        return 0;
}

static enum ledger_status attach(uint32_t slot)
{
        struct ledger_op op;

        ledger_attach(&op, slot);
        return ledger_run(&op, &ledger);
}

static enum ledger_status charge(uint32_t slot, uint64_t bytes)
{
        struct ledger_op op;

        ledger_charge(&op, slot, 0, bytes);
        return ledger_run(&op, &ledger);
}

static enum ledger_status release(uint32_t slot, uint64_t bytes)
{
        struct ledger_op op;

        ledger_release(&op, slot, 0, bytes);
        return ledger_run(&op, &ledger);
}

static uint64_t used(void)
{
        return slots.ledger[0].used_bytes;
}

static void the_last_byte_is_granted_and_the_next_refused(void **state)
{
        assert_int_equal(attach(0), LEDGER_DONE);
        assert_int_equal(charge(0, 60), LEDGER_DONE);
        assert_int_equal(charge(0, 41), LEDGER_REFUSED);
        assert_int_equal(used(), 60);
        assert_int_equal(charge(0, 40), LEDGER_DONE);
        assert_int_equal(charge(0, 1), LEDGER_REFUSED);
        assert_int_equal(release(0, 100), LEDGER_DONE);
        assert_int_equal(used(), 0);
        assert_int_equal(page_row_bytes(&slots, 0, 0), 0);
}

static void sizes_near_two_to_the_64_do_not_wrap(void **state)
{
        attach(0);
        limits.device[0].limit_bytes = PAGE_UNLIMITED;
        assert_int_equal(charge(0, LEDGER_MAX_BYTES), LEDGER_DONE);
        assert_int_equal(charge(0, LEDGER_MAX_BYTES), LEDGER_DONE);
        assert_int_equal(charge(0, LEDGER_MAX_BYTES), LEDGER_REFUSED);
        assert_int_equal(charge(0, UINT64_MAX), LEDGER_REFUSED);
        assert_int_equal(charge(0, (uint64_t)1 << 63), LEDGER_REFUSED);
        assert_int_equal(used(), 2 * LEDGER_MAX_BYTES);
}

static void a_limit_below_use_takes_nothing_back(void **state)
{
        attach(0);
        charge(0, 80);
        limits.device[0].limit_bytes = 50;
        assert_int_equal(charge(0, 1), LEDGER_REFUSED);
        assert_int_equal(used(), 80);
        assert_int_equal(release(0, 40), LEDGER_DONE);
        assert_int_equal(charge(0, 10), LEDGER_DONE);
        assert_int_equal(charge(0, 1), LEDGER_REFUSED);
        limits.device[0].limit_bytes = 51;
        assert_int_equal(charge(0, 1), LEDGER_DONE);
}

static void a_limit_of_zero_refuses_all(void **state)
{
        attach(0);
        limits.device[0].limit_bytes = 0;
        assert_int_equal(charge(0, 1), LEDGER_REFUSED);
}

static void what_the_dead_held_is_found_when_it_is_needed(void **state)
{
        attach(0);
        attach(1);
        charge(0, 70);
        world.live[0] = false;
        assert_int_equal(charge(1, 20), LEDGER_DONE);
        assert_int_equal(used(), 90);
        assert_int_equal(charge(1, 80), LEDGER_DONE);
        assert_int_equal(used(), 100);
        assert_int_equal(world.reclaims, 1);
        assert_int_equal(page_row_bytes(&slots, 0, 0), 0);
        assert_false(world.recover[0]);
}

static void reap(uint32_t slot)
{
        struct ledger_op op;

        ledger_reap(&op, slot, 0);
        assert_int_equal(ledger_run(&op, &ledger), LEDGER_DONE);
}

/* By a member and by a reader that has no slot; the living keep theirs. */
static void what_the_dead_held_is_given_back_on_request(void **state)
{
        for (uint32_t slot = 0; slot < 4; slot++) {
                attach(slot);
                charge(slot, 10 + slot);
        }
        reap(PAGE_SLOTS);
        assert_int_equal(used(), 46);
        world.live[0] = world.live[2] = false;
        reap(3);
        assert_int_equal(used(), 11 + 13);
        world.live[3] = false;
        reap(PAGE_SLOTS);
        assert_int_equal(used(), 11);
        assert_int_equal(world.reclaims, 3);
        world.live[1] = false;
        world.is_recover_busy = true;
        reap(PAGE_SLOTS);
        assert_int_equal(used(), 11);
        assert_int_equal(world.retries, 0);
}

/* Wherever its last operation was cut off. */
static void what_the_dead_held_is_given_back_to_the_byte(void **state)
{
        struct ledger_op op;
        bool is_over = false;

        for (unsigned steps = 0; !is_over; steps++) {
                empty_page(NULL);
                attach(0);
                attach(1);
                charge(0, 10);
                charge(1, 20);
                ledger_charge(&op, 0, 0, 30);
                for (unsigned i = 0; i < steps && !is_over; i++)
                        is_over = ledger_step(&op, &ledger) != LEDGER_MORE;
                world.live[0] = false;
                reap(1);
                assert_int_equal(used(), 20);
                assert_int_equal(page_row_bytes(&slots, 0, 0), 0);
        }
}

static void who_takes_a_slot_over_is_not_taken_for_the_dead(void **state)
{
        attach(0);
        attach(1);
        charge(0, 70);
        world.live[0] = false;
        world.is_taken_over = true;
        assert_int_equal(charge(1, 80), LEDGER_REFUSED);
        assert_int_equal(used(), 70);
        assert_int_equal(page_row_bytes(&slots, 0, 0), 70);
        assert_false(world.recover[0]);
}

static void a_slot_taken_over_starts_with_nothing(void **state)
{
        attach(0);
        charge(0, 70);
        world.live[0] = false;
        assert_int_equal(attach(0), LEDGER_DONE);
        assert_int_equal(used(), 0);
        assert_int_equal(charge(0, 100), LEDGER_DONE);
}

static void a_live_slot_is_nobody_elses(void **state)
{
        attach(0);
        assert_int_equal(attach(0), LEDGER_TAKEN);
        assert_false(world.recover[0]);
        world.live[1] = false;
        world.recover[1] = true;
        assert_int_equal(attach(1), LEDGER_TAKEN);
}

static void a_slot_that_cannot_be_looked_at_is_waited_for_a_while(void **state)
{
        attach(0);
        attach(1);
        charge(0, 70);
        world.live[0] = false;
        world.is_recover_busy = true;
        world.retries_left = 5;
        assert_int_equal(charge(1, 80), LEDGER_GAVE_UP);
        assert_int_equal(world.retries, 6);
        world.is_recover_busy = false;
        assert_int_equal(charge(1, 80), LEDGER_DONE);
}

static void every_device_counts_for_itself(void **state)
{
        struct ledger_op op;

        attach(0);
        charge(0, 100);
        ledger_charge(&op, 0, 15, 100);
        assert_int_equal(ledger_run(&op, &ledger), LEDGER_DONE);
        assert_int_equal(slots.ledger[15].used_bytes, 100);
        world.live[0] = false;
        assert_int_equal(attach(0), LEDGER_DONE);
        assert_int_equal(slots.ledger[0].used_bytes + slots.ledger[15].used_bytes, 0);
}

static void used_stops_at_zero_when_somebody_scribbled(void **state)
{
        attach(0);
        charge(0, 50);
        slots.ledger[0].used_bytes = 10;
        assert_int_equal(release(0, 50), LEDGER_DONE);
        assert_int_equal(used(), 0);
}

/* A dead row that says more than there can be: giving that back is never taken for a charge. */
static void a_row_beyond_all_cards_is_given_back_in_parts(void **state)
{
        attach(0);
        for (uint64_t held = UINT64_MAX; held > (uint64_t)INT64_MAX; held -= UINT64_C(1) << 61) {
                slots.row[1][0].charge[slots.row[1][0].committed & 1] = held;
                slots.slots_high = 2;
                assert_int_equal(charge(0, 101), LEDGER_REFUSED);
                assert_false(world.recover[1]);
                assert_int_equal(page_row_bytes(&slots, 1, 0), 0);
                assert_int_equal(attach(1), LEDGER_DONE);
                world.live[1] = false;
        }
        assert_int_equal(used(), 0);
}

/* A page of random bytes: every operation ends, within the page, and grants nothing over. */
static void rubbish_ends(void **state)
{
        unsigned char *bytes = (unsigned char *)&slots;

        srand(2);
        for (unsigned round = 0; round < 200; round++) {
                for (size_t i = 0; i < offsetof(struct slots_page, row[64]); i++)
                        bytes[i] = (unsigned char)rand();
                world.retries_left = 3;
                world.is_rubbish = true;
                for (unsigned i = 0; i < PAGE_SLOTS; i++)
                        world.live[i] = i % 3 == 0;
                if (attach(1) == LEDGER_DONE)
                        assert_true(world.live[1]);
                enum ledger_status status = charge(1, 50);

                if (status == LEDGER_DONE)
                        assert_true(used() <= 100);
                assert_int_equal(release(1, 50), LEDGER_DONE);
                for (unsigned i = 0; i < PAGE_SLOTS; i++)
                        assert_false(world.recover[i]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(the_last_byte_is_granted_and_the_next_refused, empty_page),
                cmocka_unit_test_setup(sizes_near_two_to_the_64_do_not_wrap, empty_page),
                cmocka_unit_test_setup(a_limit_below_use_takes_nothing_back, empty_page),
                cmocka_unit_test_setup(a_limit_of_zero_refuses_all, empty_page),
                cmocka_unit_test_setup(what_the_dead_held_is_found_when_it_is_needed, empty_page),
                cmocka_unit_test_setup(what_the_dead_held_is_given_back_on_request, empty_page),
                cmocka_unit_test_setup(what_the_dead_held_is_given_back_to_the_byte, empty_page),
                cmocka_unit_test_setup(who_takes_a_slot_over_is_not_taken_for_the_dead, empty_page),
                cmocka_unit_test_setup(a_slot_taken_over_starts_with_nothing, empty_page),
                cmocka_unit_test_setup(a_live_slot_is_nobody_elses, empty_page),
                cmocka_unit_test_setup(a_slot_that_cannot_be_looked_at_is_waited_for_a_while,
                                       empty_page),
                cmocka_unit_test_setup(every_device_counts_for_itself, empty_page),
                cmocka_unit_test_setup(used_stops_at_zero_when_somebody_scribbled, empty_page),
                cmocka_unit_test_setup(a_row_beyond_all_cards_is_given_back_in_parts, empty_page),
                cmocka_unit_test_setup(rubbish_ends, empty_page),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
