/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sessions have their memory on the card, for how long, and how many bytes move for it.
 */
#include "core/swap.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "swap_world.h"

#define MIB WORLD_MIB
#define GIB WORLD_GIB
#define MS WORLD_MS
#define SECOND WORLD_SECOND

enum { A, B, C, D };

static struct world_session *add(unsigned entry, enum swap_class class, uint64_t gib)
{
        struct world_session *session = world_add(entry, class, gib * GIB, GIB / 2);

        session->is_busy = true;
        world_run(50 * MS);
        return session;
}

static void run_until(unsigned entry, bool is_open)
{
        for (unsigned n = 0; n < 100000 && world_is_open(entry) != is_open; n++)
                world_run(MS);
        assert_int_equal(world_is_open(entry), is_open);
}

static void what_fits_runs_and_nothing_moves(void **state)
{
        struct world_session *a, *b;

        world_begin(80 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 30);
        b = add(B, SWAP_CLASS_NORMAL, 40);
        world_run(100 * SECOND);
        assert_int_equal(a->swappable_bytes, 30 * GIB);
        assert_int_equal(b->swappable_bytes, 40 * GIB);
        assert_int_equal(a->moved_bytes + b->moved_bytes, 0);
        assert_int_equal(world.swap.session[A].holds + world.swap.session[B].holds, 0);
        assert_false(world.swap.card[0].is_short);
}

static void two_that_do_not_fit_take_equal_turns_and_lose_little(void **state)
{
        struct world_session *a, *b;

        world_begin(80 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 60);
        b = add(B, SWAP_CLASS_NORMAL, 60);
        world_run(30 * SECOND);
        a->ran_ns = b->ran_ns = world.stopped_ns = 0;
        world_run(400 * SECOND);
        assert_int_equal(a->swappable_bytes + b->swappable_bytes, 120 * GIB);
        assert_true(a->ran_ns > 180 * SECOND && b->ran_ns > 180 * SECOND);
        assert_true(world.stopped_ns < 24 * SECOND);
}

/* It needs room for what is missing, and no more. */
static void only_what_is_missing_moves(void **state)
{
        struct world_session *a, *b;
        uint64_t holds, missing_bytes = 2 * (60 * GIB + GIB / 2) - 80 * GIB;

        world_begin(80 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 60);
        b = add(B, SWAP_CLASS_NORMAL, 60);
        world_run(200 * SECOND);
        holds = world.swap.session[A].holds + world.swap.session[B].holds;
        assert_true(holds > 4);
        assert_true(a->moved_bytes + b->moved_bytes < 2 * holds * (missing_bytes + 128 * MIB));
}

static void those_that_fit_beside_each_other_have_their_turn_together(void **state)
{
        uint64_t apart_ns = 0, beside_big_ns = 0;

        world_begin(80 * GIB);
        add(A, SWAP_CLASS_NORMAL, 20)->ran_ns = 0;
        add(B, SWAP_CLASS_NORMAL, 30)->ran_ns = 0;
        add(C, SWAP_CLASS_NORMAL, 70)->ran_ns = 0;
        world_run(100 * SECOND);
        for (unsigned n = 0; n < 20000; n++) {
                world_run(10 * MS);
                apart_ns += world_is_open(A) != world_is_open(B) ? 10 * MS : 0;
                beside_big_ns += world_is_open(C) && world_is_open(A) ? 10 * MS : 0;
        }
        assert_true(apart_ns < 12 * SECOND);
        assert_int_equal(beside_big_ns, 0);
        assert_true(world.session[A].ran_ns > 130 * SECOND);
        assert_true(world.session[C].ran_ns > 130 * SECOND);
}

static void small_ones_that_come_and_go_keep_no_big_one_out(void **state)
{
        world_begin(16 * GIB);
        add(D, SWAP_CLASS_NORMAL, 14);
        for (unsigned n = 0; n < 300; n++) {
                unsigned entry = n % 3;

                if (world.session[entry].is_here)
                        world_remove(entry);
                world_add(entry, SWAP_CLASS_NORMAL, 4 * GIB, 0)->is_busy = true;
                world_run(700 * MS);
        }
        assert_true(world.session[D].longest_ns < 20 * SECOND);
        assert_true(world.session[D].ran_ns > 40 * SECOND);
}

/* -- Rules ------------------------------------------------------------------------------------- */

static void in_serial_mode_one_at_a_time_runs_and_what_fits_does_not_move(void **state)
{
        const struct world_session *a, *b;

        world_begin(80 * GIB);
        world.swap.rules.mode = SWAP_SERIAL;
        a = add(A, SWAP_CLASS_NORMAL, 30);
        b = add(B, SWAP_CLASS_NORMAL, 40);
        for (unsigned n = 0; n < 20000; n++) {
                world_run(MS);
                assert_false(world_is_open(A) && world_is_open(B));
        }
        assert_true(a->ran_ns > 8 * SECOND && b->ran_ns > 8 * SECOND);
        assert_int_equal(a->moved_bytes + b->moved_bytes, 0);
        world.swap.rules.mode = SWAP_AUTO;
        world_run(SECOND);
        assert_true(world_is_open(A) && world_is_open(B));
}

/* One that is stuck runs, as its memory cannot leave. The other one does not wait for it. */
static void in_serial_mode_a_stuck_session_keeps_nobody_out(void **state)
{
        world_begin(80 * GIB);
        add(A, SWAP_CLASS_NORMAL, 30)->drain_ns = SWAP_NEVER;
        add(B, SWAP_CLASS_NORMAL, 40)->ran_ns = 0;
        world.swap.rules.mode = SWAP_SERIAL;
        world_run(20 * SECOND);
        assert_true(world.session[B].ran_ns > 7 * SECOND);
}

static void in_parallel_mode_no_turn_ends_by_the_clock(void **state)
{
        world_begin(80 * GIB);
        world.swap.rules.mode = SWAP_PARALLEL;
        add(A, SWAP_CLASS_NORMAL, 60);
        add(B, SWAP_CLASS_NORMAL, 60);
        world_run(200 * SECOND);
        assert_int_equal(world.session[B].swappable_bytes, 0);
        assert_int_equal(world.swap.session[A].holds, 0);
        world.session[A].is_busy = false;
        world_run(10 * SECOND);
        assert_int_equal(world.session[B].swappable_bytes, 60 * GIB);
        world.session[A].is_busy = true;
        world_run(200 * SECOND);
        assert_int_equal(world.swap.session[A].holds, 1);
        assert_int_equal(world.swap.session[B].holds, 0);
}

static void a_fixed_turn_lasts_that_long_whatever_a_change_costs(void **state)
{
        uint64_t turns;

        world_begin(80 * GIB);
        world.swap.rules.turn_ns = 5 * SECOND;
        add(A, SWAP_CLASS_NORMAL, 60);
        add(B, SWAP_CLASS_NORMAL, 60);
        world_run(60 * SECOND);
        turns = world.turns;
        world_run(300 * SECOND);
        turns = world.turns - turns;
        /* 5 s each, and the change. */
        assert_true(turns >= 300 / 8 && turns <= 300 / 5);
}

/* There are always more small ones than fit, whose turns begin and end at different times. */
static void a_big_one_has_its_turn_among_many_small_ones(void **state)
{
        struct world_session *big;

        world_begin(16 * GIB);
        for (unsigned i = 0; i < 11; i++)
                world_add(i, SWAP_CLASS_NORMAL, (3 + i % 3) * GIB, 0)->is_busy = true;
        world_run(30 * SECOND);
        big = world_add(11, SWAP_CLASS_NORMAL, 14 * GIB, 0);
        big->is_busy = true;
        for (unsigned n = 0; n < 1000; n++) {
                unsigned entry = n * 5 % 11;

                /* A session that runs becomes idle; one that is held becomes busy. */
                world.session[entry].is_busy = !world_is_open(entry);
                world_run(300 * MS);
        }
        assert_int_equal(big->swappable_bytes, 14 * GIB);
        assert_true(big->longest_ns < 60 * SECOND);
        assert_true(big->ran_ns > 30 * SECOND);
}

static void rt_ends_the_turn_of_a_lower_class_and_gives_it_back_when_idle(void **state)
{
        struct world_session *rt;

        world_begin(16 * GIB);
        rt = add(A, SWAP_CLASS_RT, 12);
        add(B, SWAP_CLASS_NORMAL, 12);
        world_run(20 * SECOND);
        assert_true(world_is_open(A));
        assert_int_equal(world.session[B].swappable_bytes, 0);
        rt->is_busy = false;
        world_run(3 * SECOND);
        assert_true(world_is_open(B) && !world_is_open(A));
        assert_int_equal(world.session[B].swappable_bytes, 12 * GIB);
        rt->is_busy = true;
        world_run(SECOND + world.swap.card[0].cost_ns);
        assert_true(world_is_open(A) && !world_is_open(B));
}

static void who_is_idle_keeps_its_memory_until_another_needs_it(void **state)
{
        struct world_session *a;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 12);
        a->is_busy = false;
        world_run(60 * SECOND);
        assert_true(world_is_open(A));
        add(B, SWAP_CLASS_NORMAL, 10);
        world_run(10 * SECOND);
        assert_true(world_is_open(B) && !world_is_open(A));
        /* It wants nothing: it stays out, in part. */
        world_run(60 * SECOND);
        assert_int_equal(world.session[B].turns, 0);
        assert_true(a->out_bytes > 6 * GIB && a->out_bytes < 8 * GIB);
        world_remove(B);
        world_run(10 * SECOND);
        assert_true(world_is_open(A));
}

static void who_does_not_drain_is_left_alone_and_keeps_nobody_waiting_long(void **state)
{
        struct world_session *a, *c;
        uint64_t held_ns;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 7);
        a->drain_ns = SWAP_NEVER;
        add(B, SWAP_CLASS_NORMAL, 7);
        c = add(C, SWAP_CLASS_NORMAL, 7);
        world_run(300 * SECOND);
        /* Tried after 2, 4, 8, ... 60 s, for 2 s each. */
        held_ns = world.swap.session[A].held_ns;
        assert_in_range(held_ns / MS, 8000, 24000);
        assert_in_range(world.swap.session[A].holds, 4, 12);
        assert_true(world.session[B].ran_ns > 100 * SECOND && c->ran_ns > 100 * SECOND);
        assert_true(world.swap.session[A].is_overdue);
        a->drain_ns = MS;
        world_run(100 * SECOND);
        assert_true(a->turns > 0 && a->moved_bytes > 0);
        assert_false(world.swap.session[A].is_overdue);
}

/* One that drains at a later try is not: it counts anew. */
static void who_is_stuck_for_long_is_overdue(void **state)
{
        struct world_session *a;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 10);
        a->drain_ns = SWAP_NEVER;
        add(B, SWAP_CLASS_NORMAL, 10);
        while (!world.swap.session[A].stuck_ns)
                world_run(MS);
        world_run(SWAP_OVERDUE_NS - SECOND);
        assert_false(world.swap.session[A].is_overdue);
        world_run(2 * SECOND);
        assert_true(world.swap.session[A].is_overdue);
        assert_false(world.swap.session[B].is_overdue);
}

/* Who moves in a later try has no turn yet, and is not overdue while it waits for one. */
static void who_moved_in_a_later_try_is_not_overdue(void **state)
{
        struct world_session *a;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 10);
        world_add(B, SWAP_CLASS_RT, 10 * GIB, GIB / 2)->is_busy = true;
        for (unsigned n = 0; n < 60000 && !a->out_bytes; n++)
                world_run(MS);
        a->moves_nothing = true;
        for (unsigned n = 0; n < 60000 && !world.swap.session[A].since_ns; n++)
                world_run(MS);
        a->moves_nothing = false;
        for (unsigned n = 0; n < 3 * SWAP_OVERDUE_NS / MS; n++) {
                world_run(MS);
                assert_false(a->out_bytes > 0 && world.swap.session[A].is_overdue);
        }
        assert_true(a->out_bytes > 0 && !world_is_open(A));
}

static void who_is_out_in_part_and_does_not_move_is_not_run(void **state)
{
        struct world_session *a;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 10);
        add(B, SWAP_CLASS_NORMAL, 10);
        run_until(A, false);
        for (unsigned n = 0; n < 100 && a->out_bytes == 0; n++)
                world_run(MS);
        a->moves_nothing = true;
        world_run(60 * SECOND);
        assert_false(world_is_open(A));
        assert_true(a->out_bytes > 0 && a->out_bytes < 2 * GIB);
        a->moves_nothing = false;
        world_run(100 * SECOND);
        assert_true(a->turns > 0 && world.session[B].turns > 0);
}

static void what_can_never_be_brought_in_beside_it_is_not_pinned(void **state)
{
        struct world_session *a, *b;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 13);
        b = add(B, SWAP_CLASS_NORMAL, 1);
        b->refused = 0;
        b->ask_pinned_bytes = 3 * GIB;
        world_run(SECOND);
        assert_int_equal(b->refused, 1);
        b->ask_pinned_bytes = GIB;
        world_run(SECOND);
        assert_int_equal(b->pinned_bytes, GIB + GIB / 2);
        /* The other one's limit has followed. */
        assert_true(a->page.max_bytes <= 16 * GIB - b->pinned_bytes);
        a->refused = 0;
        a->ask_bytes = 2 * GIB;
        world_run(SECOND);
        assert_int_equal(a->refused, 1);
}

static void who_has_no_room_for_pinned_bytes_of_others_is_marked_and_waits(void **state)
{
        struct world_session *a, *b;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 12);
        b = add(B, SWAP_CLASS_NORMAL, 12);
        run_until(A, false);
        run_until(B, true);
        world.is_unasked = true;
        b->pinned_bytes += 4 * GIB;
        b->swappable_bytes -= 4 * GIB;
        world_run(100 * SECOND);
        assert_true(world.swap.session[A].has_no_room);
        assert_true(world_is_open(B) && !world_is_open(A));
        b->pinned_bytes -= 4 * GIB;
        world_run(100 * SECOND);
        assert_false(world.swap.session[A].has_no_room);
        assert_true(a->turns > 0);
}

static void growth_waits_for_room_and_gets_it_with_a_turn(void **state)
{
        struct world_session *a;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 7);
        add(B, SWAP_CLASS_NORMAL, 7);
        a->ask_bytes = 5 * GIB;
        world_run(10 * SECOND);
        assert_int_equal(a->swappable_bytes, 12 * GIB);
        assert_true(a->turns > 0 || world.session[B].turns > 0);
}

/* Not once in a round of all turns. */
static void who_has_a_turn_grows_block_by_block(void **state)
{
        struct world_session *a;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 12);
        add(B, SWAP_CLASS_NORMAL, 12);
        add(C, SWAP_CLASS_NORMAL, 12);
        world_run(100 * SECOND);
        run_until(A, false);
        run_until(A, true);
        for (unsigned n = 0; n < 8; n++) {
                a->ask_bytes = 256 * MIB;
                world_run(50 * MS);
                assert_int_equal(a->ask_bytes, 0);
        }
        assert_true(world_is_open(A));
}

static void what_was_freed_stays_at_hand_for_the_next_block(void **state)
{
        struct world_session *a, *b;
        uint64_t moved_bytes;

        world_begin(16 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 12);
        b = add(B, SWAP_CLASS_NORMAL, 12);
        run_until(A, false);
        run_until(A, true);
        world_run(100 * MS);
        moved_bytes = b->moved_bytes;
        for (unsigned n = 0; n < 10 && world_is_open(A); n++) {
                a->swappable_bytes -= 4 * GIB;
                world_run(10 * MS);
                a->ask_bytes = 4 * GIB;
                world_run(10 * MS);
                assert_int_equal(a->ask_bytes, 0);
        }
        assert_int_equal(b->moved_bytes, moved_bytes);
}

static void fill(unsigned entry, uint64_t gib)
{
        struct world_session *session = world_add(entry, SWAP_CLASS_NORMAL, 0, GIB / 2);

        session->is_busy = true;
        session->fill_bytes = gib * GIB;
        session->block_bytes = 64 * MIB;
}

static unsigned filled(void)
{
        unsigned count = 0;

        for (unsigned i = A; i <= C; i++)
                count += world.session[i].swappable_bytes == world.session[i].fill_bytes;
        return count;
}

/* Sessions that cannot work yet do not take memory from each other by turns. */
static void sessions_that_begin_at_once_fill_one_after_the_other(void **state)
{
        uint64_t moved_bytes = 0;

        world_begin(16 * GIB);
        for (unsigned i = A; i <= C; i++)
                fill(i, 14);
        world_run(4 * SECOND);
        assert_true(filled() > 0);
        world_run(36 * SECOND);
        assert_int_equal(filled(), 3);
        for (unsigned i = A; i <= C; i++)
                moved_bytes += world.session[i].moved_bytes;
        assert_true(moved_bytes < 140 * GIB);
}

/* Two sessions of 12 GiB on 16 GiB, where a change takes 0.4 s; the time in which one of them
 * ran. */
static uint64_t run_in_bursts(uint64_t busy_ns, uint64_t pause_ns)
{
        struct world_session *session[] = { &world.session[A], &world.session[B] };
        uint64_t until_ns[2] = { 0, 0 };

        world_begin(16 * GIB);
        add(A, SWAP_CLASS_NORMAL, 12)->ran_ns = 0;
        add(B, SWAP_CLASS_NORMAL, 12)->ran_ns = 0;
        for (unsigned n = 0; n < 40000; n++) {
                for (unsigned i = 0; i < 2; i++) {
                        if (session[i]->is_busy && session[i]->ran_ns >= until_ns[i]) {
                                session[i]->is_busy = false;
                                until_ns[i] = world.now_ns + pause_ns;
                        } else if (!session[i]->is_busy && world.now_ns >= until_ns[i]) {
                                session[i]->is_busy = true;
                                until_ns[i] = session[i]->ran_ns + busy_ns;
                        }
                }
                world_run(10 * MS);
        }
        return session[0]->ran_ns + session[1]->ran_ns;
}

/* In 400 s, half of which each session is idle by itself. */
static void a_pause_longer_than_a_change_is_another_ones_time(void **state)
{
        assert_true(run_in_bursts(8 * SECOND, 8 * SECOND) > 340 * SECOND);
        assert_true(run_in_bursts(SECOND, SECOND) > 260 * SECOND);
}

static void a_pause_shorter_than_a_change_ends_no_turn(void **state)
{
        run_in_bursts(SECOND, 300 * MS);
        assert_true(world.swap.session[A].holds + world.swap.session[B].holds < 50);
}

static void see(unsigned entry, uint64_t used_gib, uint64_t out_gib, bool is_drained)
{
        const struct swap_seen seen = { .used_bytes = used_gib * GIB,
                                        .swappable_bytes = used_gib * GIB,
                                        .out_bytes = out_gib * GIB,
                                        .is_busy = true,
                                        .is_drained = is_drained };

        swap_see(&world.swap, entry, &seen);
}

static void step(void)
{
        world.now_ns += MS;
        swap_step(&world.swap, world.now_ns);
}

static void bytes_are_given_when_they_were_seen_to_be_free(void **state)
{
        const struct swap_session *a = &world.swap.session[A], *b = &world.swap.session[B];

        world_begin(16 * GIB);
        swap_add(&world.swap, A, 0, SWAP_CLASS_NORMAL, 0);
        /* A new session: nobody knows what pages from before a restart allow. */
        see(A, 10, 0, false);
        step();
        assert_int_equal(a->order.resident_bytes, 10 * GIB);
        see(A, 10, 0, false);
        step();
        assert_int_equal(a->order.resident_bytes, 16 * GIB);
        /* Another one: the first is told to leave half of what is free, and may have taken it. */
        swap_add(&world.swap, B, 0, SWAP_CLASS_NORMAL, 0);
        see(B, 0, 0, false);
        step();
        assert_int_equal(a->order.resident_bytes, 13 * GIB);
        assert_int_equal(b->order.resident_bytes, 0);
        /* Not seen since: nothing is known to be free. */
        step();
        assert_int_equal(b->order.resident_bytes, 0);
        see(B, 0, 0, false);
        step();
        assert_int_equal(b->order.resident_bytes, 0);
        see(A, 10, 0, false);
        see(B, 0, 0, false);
        step();
        assert_int_equal(b->order.resident_bytes, 3 * GIB);
}

/* A library charges a request, finds that the order has no room for it, and gives the charge back:
 * a look may come in between, and more than one of a process that has to wait for a processor. */
static void a_charge_that_no_order_allows_raises_none(void **state)
{
        const struct swap_session *b = &world.swap.session[B];

        world_begin(16 * GIB);
        swap_add(&world.swap, A, 0, SWAP_CLASS_NORMAL, 0);
        swap_add(&world.swap, B, 0, SWAP_CLASS_NORMAL, 0);
        for (unsigned n = 0; n < 6; n++) {
                see(A, 10, 0, false);
                see(B, n < 3 ? 1 : 9, 0, false);
                step();
                assert_true(n < 2 || b->order.resident_bytes <= 6 * GIB);
        }
}

static void see_pinned(unsigned entry, uint64_t used_gib, uint64_t pinned_gib, uint64_t wished_gib)
{
        const struct swap_seen seen = { .used_bytes = used_gib * GIB,
                                        .swappable_bytes = (used_gib - pinned_gib) * GIB,
                                        .wished_pinned_bytes = wished_gib * GIB };

        swap_see(&world.swap, entry, &seen);
}

static void more_is_pinned_when_others_were_seen_to_keep_to_lower_limits(void **state)
{
        const struct swap_session *a = &world.swap.session[A], *b = &world.swap.session[B];

        world_begin(16 * GIB);
        swap_add(&world.swap, A, 0, SWAP_CLASS_NORMAL, 0);
        swap_add(&world.swap, B, 0, SWAP_CLASS_NORMAL, 0);
        for (unsigned n = 0; n < 4; n++) {
                see_pinned(A, 10, 0, 0);
                see_pinned(B, 2, 1, 0);
                step();
        }
        assert_true(a->order.max_bytes > 14 * GIB);
        see_pinned(A, 10, 0, 0);
        see_pinned(B, 2, 1, 4);
        step();
        assert_true(a->order.max_bytes <= 12 * GIB);
        assert_true(b->order.pinned_bytes < 4 * GIB);
        assert_true(b->is_asked);
        /* It had taken more before it was told. */
        see_pinned(A, 14, 0, 0);
        see_pinned(B, 2, 1, 4);
        step();
        assert_true(b->order.pinned_bytes < 4 * GIB);
        assert_false(b->is_asked);
        for (unsigned n = 0; n < 2; n++) {
                see_pinned(A, 12, 0, 0);
                see_pinned(B, 2, 1, 4);
                step();
        }
        assert_int_equal(b->order.pinned_bytes, 4 * GIB);
}

static void a_session_that_was_held_before_a_restart_is_brought_in(void **state)
{
        const struct swap_session *a = &world.swap.session[A];

        world_begin(16 * GIB);
        swap_add(&world.swap, A, 0, SWAP_CLASS_NORMAL, 7777);
        see(A, 10, 4, true);
        step();
        assert_int_equal(a->order.gate, 7777);
        see(A, 10, 4, true);
        step();
        assert_int_equal(a->state, SWAP_HELD);
        assert_true(a->order.resident_bytes >= 10 * GIB);
        see(A, 10, 1, true);
        step();
        assert_int_equal(a->order.gate, 7777);
        see(A, 10, 0, true);
        step();
        assert_int_equal(a->order.gate, 0);
        assert_int_equal(a->state, SWAP_RUNS);
        assert_true(world.swap.gates >= 7777);
}

/* It may have answered an older hold. */
static void a_drain_from_before_the_gate_was_shut_is_none(void **state)
{
        const struct swap_session *a = &world.swap.session[A];

        world_begin(16 * GIB);
        swap_add(&world.swap, A, 0, SWAP_CLASS_NORMAL, 0);
        swap_add(&world.swap, B, 0, SWAP_CLASS_NORMAL, 5);
        for (unsigned n = 0; n < 1000 && a->order.gate == 0; n++) {
                see(A, 10, 0, true);
                see(B, 10, 10, true);
                step();
        }
        assert_int_equal(a->state, SWAP_DRAINS);
        step();
        assert_int_equal(a->state, SWAP_DRAINS);
        see(A, 10, 0, true);
        step();
        assert_int_equal(a->state, SWAP_HELD);
}

static void when_time_goes_back_it_stands_still(void **state)
{
        world_begin(16 * GIB);
        add(A, SWAP_CLASS_NORMAL, 12);
        add(B, SWAP_CLASS_NORMAL, 12);
        swap_step(&world.swap, 0);
        assert_int_equal(world.swap.now_ns / SECOND, world.now_ns / SECOND);
        world_run(20 * SECOND);
        assert_true(world.session[A].ran_ns > 5 * SECOND);
        assert_true(world.session[B].ran_ns > 5 * SECOND);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_fits_runs_and_nothing_moves),
                cmocka_unit_test(two_that_do_not_fit_take_equal_turns_and_lose_little),
                cmocka_unit_test(only_what_is_missing_moves),
                cmocka_unit_test(those_that_fit_beside_each_other_have_their_turn_together),
                cmocka_unit_test(small_ones_that_come_and_go_keep_no_big_one_out),
                cmocka_unit_test(in_serial_mode_one_at_a_time_runs_and_what_fits_does_not_move),
                cmocka_unit_test(in_serial_mode_a_stuck_session_keeps_nobody_out),
                cmocka_unit_test(in_parallel_mode_no_turn_ends_by_the_clock),
                cmocka_unit_test(a_fixed_turn_lasts_that_long_whatever_a_change_costs),
                cmocka_unit_test(a_big_one_has_its_turn_among_many_small_ones),
                cmocka_unit_test(rt_ends_the_turn_of_a_lower_class_and_gives_it_back_when_idle),
                cmocka_unit_test(who_is_idle_keeps_its_memory_until_another_needs_it),
                cmocka_unit_test(who_does_not_drain_is_left_alone_and_keeps_nobody_waiting_long),
                cmocka_unit_test(who_is_stuck_for_long_is_overdue),
                cmocka_unit_test(who_moved_in_a_later_try_is_not_overdue),
                cmocka_unit_test(who_is_out_in_part_and_does_not_move_is_not_run),
                cmocka_unit_test(what_can_never_be_brought_in_beside_it_is_not_pinned),
                cmocka_unit_test(who_has_no_room_for_pinned_bytes_of_others_is_marked_and_waits),
                cmocka_unit_test(growth_waits_for_room_and_gets_it_with_a_turn),
                cmocka_unit_test(who_has_a_turn_grows_block_by_block),
                cmocka_unit_test(what_was_freed_stays_at_hand_for_the_next_block),
                cmocka_unit_test(sessions_that_begin_at_once_fill_one_after_the_other),
                cmocka_unit_test(a_pause_longer_than_a_change_is_another_ones_time),
                cmocka_unit_test(a_pause_shorter_than_a_change_ends_no_turn),
                cmocka_unit_test(bytes_are_given_when_they_were_seen_to_be_free),
                cmocka_unit_test(a_charge_that_no_order_allows_raises_none),
                cmocka_unit_test(more_is_pinned_when_others_were_seen_to_keep_to_lower_limits),
                cmocka_unit_test(a_session_that_was_held_before_a_restart_is_brought_in),
                cmocka_unit_test(a_drain_from_before_the_gate_was_shut_is_none),
                cmocka_unit_test(when_time_goes_back_it_stands_still),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
