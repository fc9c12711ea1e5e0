/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sessions that swap: what always holds, holds (swap_world.c asserts it at each look); and
 * whoever wants its turn gets it, in a time that has a bound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "common/minmax.h"
#include "swap_world.h"

#define MIB WORLD_MIB
#define GIB WORLD_GIB
#define MS WORLD_MS
#define SECOND WORLD_SECOND
#define RUNS 60u
#define EVENTS 600u

static uint64_t random_state;

/* SplitMix64. */
static uint64_t random_below(uint64_t most)
{
        uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return (z ^ z >> 31) % most;
}

static bool chance(unsigned percent)
{
        return random_below(100) < percent;
}

static uint64_t capacity(void)
{
        return world.swap.card[0].capacity_bytes;
}

static uint64_t random_size(unsigned percent)
{
        uint64_t bytes = 1 + random_below(capacity() / 100 * percent);

        return chance(50) ? bytes : (bytes | (2 * MIB - 1)) + 1;
}

static struct world_session *random_session(enum swap_class class, unsigned entry)
{
        struct world_session *session =
                world_add(entry, class, random_size(90), random_size(chance(80) ? 2 : 12));

        session->is_busy = chance(70);
        return session;
}

static void random_change(struct world_session *session, unsigned entry)
{
        bool is_open = session->page.gate == 0;

        switch (random_below(9)) {
        case 0:
                session->is_busy = !session->is_busy;
                break;
        case 1:
                session->ask_bytes += random_size(20);
                break;
        case 2:
                session->ask_pinned_bytes += random_size(chance(90) ? 1 : 50);
                break;
        case 3: /* it gives up waiting */
                session->ask_bytes = session->ask_pinned_bytes = 0;
                break;
        case 4:
                if (is_open)
                        session->swappable_bytes -= random_below(session->swappable_bytes + 1);
                break;
        case 5:
                if (is_open)
                        session->pinned_bytes -= random_below(session->pinned_bytes + 1);
                break;
        case 6:
                session->drain_ns = chance(15) ? SWAP_NEVER : random_below(20 * MS);
                break;
        case 7:
                session->moves_nothing = chance(10);
                break;
        default:
                if (chance(20))
                        world_remove(entry);
        }
}

static void random_event(void)
{
        unsigned entry = (unsigned)random_below(WORLD_SESSIONS);
        struct world_session *session = &world.session[entry];

        if (session->is_here)
                random_change(session, entry);
        else if (chance(30))
                random_session((enum swap_class)random_below(3), entry);
}

static void random_world(uint64_t seed)
{
        random_state = seed;
        world_begin((1 + random_below(16)) * GIB);
        world.link_bytes = (1 + random_below(200)) * MIB;
        world.segment_bytes = chance(50) ? 64 * MIB : 2 * MIB;
}

static void what_always_holds_holds(void **state)
{
        uint64_t granted = 0, refused = 0, moved_bytes = 0, stuck = 0, turns = 0;

        for (uint64_t seed = 1; seed <= RUNS; seed++) {
                random_world(seed);
                world.swap.rules.turn_ns = seed % 7 == 0 ? random_below(3 * SECOND) : 0;
                for (unsigned n = 0; n < EVENTS; n++) {
                        random_event();
                        if (chance(2))
                                world.swap.rules.mode = (enum swap_mode)random_below(3);
                        if (chance(10))
                                world_look(random_below(80) * MS); /* a late look */
                        else if (chance(5))
                                world_run(random_below(1000) * MS);
                        else
                                world_run(random_below(30) * MS);
                }
                for (unsigned i = 0; i < WORLD_SESSIONS; i++) {
                        granted += world.session[i].granted;
                        refused += world.session[i].refused;
                        moved_bytes += world.session[i].moved_bytes;
                        stuck += world.swap.session[i].stuck_ns > 0;
                }
                turns += world.turns;
        }
        /* It was a trial. */
        assert_true(granted > 1000 && refused > 100 && moved_bytes > 1000 * GIB && turns > 500);
        assert_true(stuck > 3);
}

/* A session allocates its memory at once, or block by block; then it is not busy before the last
 * block. */
static void add_busy(unsigned entry, bool is_filling)
{
        uint64_t bytes = random_size(80);
        struct world_session *session =
                world_add(entry, SWAP_CLASS_NORMAL, is_filling ? 0 : bytes, random_size(2));

        session->is_busy = true;
        session->fill_bytes = is_filling ? bytes : 0;
        session->block_bytes = bytes / 16 + 1;
}

/* Busy, of one class, each smaller than the card: all of them, however small, however big. */
static void everybody_gets_its_turn_in_time(void **state)
{
        for (uint64_t seed = 1; seed <= RUNS; seed++) {
                unsigned count;
                uint64_t cost_ns, bound_ns;

                random_world(seed);
                count = 2 + (unsigned)random_below(8);
                world.link_bytes = capacity() / (10 + random_below(1000));
                for (unsigned i = 0; i < count; i++)
                        add_busy(i, seed % 2 && chance(50));
                world.is_calm = true;
                world_run(20 * SECOND);
                for (unsigned i = 0; i < count; i++)
                        world.session[i].longest_ns = world.session[i].ran_ns = 0;
                world.stopped_ns = 0;
                world_run(60 * SECOND);
                cost_ns = 2 * capacity() / world.link_bytes * MS + 100 * MS;
                bound_ns = count * (cost_ns + max_u64(20 * cost_ns, SWAP_TURN_MIN_NS));
                for (unsigned i = 0; i < count; i++) {
                        if (!world.session[i].fill_bytes || bound_ns < 60 * SECOND)
                                assert_int_equal(world.session[i].ask_bytes, 0);
                        assert_true(world.session[i].longest_ns < bound_ns);
                        if (bound_ns < 60 * SECOND)
                                assert_true(world.session[i].ran_ns > 0);
                }
                assert_true(world.stopped_ns < 60 * SECOND * 6 / 100);
        }
}

/* Whatever pages say: sums hold, and what is told stays within the card. */
static uint64_t any_number(void)
{
        static const uint64_t numbers[] = { 0, 1, GIB, UINT64_MAX, UINT64_MAX / 2 };

        return chance(50) ? numbers[random_below(5)] : random_below(UINT64_MAX) >> random_below(64);
}

static void check_told(const struct swap *swap)
{
        uint64_t pinned_bytes = 0;

        for (unsigned i = 0; i < swap->count; i++)
                pinned_bytes += swap->session[swap->list[i]].order.pinned_bytes;
        for (unsigned i = 0; i < swap->count; i++) {
                const struct swap_session *session = &swap->session[swap->list[i]];

                assert_true(session->order.max_bytes + pinned_bytes - session->order.pinned_bytes <=
                            4 * GIB);
                assert_true(session->state != SWAP_FREE);
                assert_true((session->order.gate == 0) == (session->state == SWAP_RUNS));
        }
        assert_true(swap_next_ns(swap) > swap->now_ns);
}

static void no_number_does_harm(void **state)
{
        static struct swap swap;
        uint64_t now_ns = 0;

        memset(&swap, 0, sizeof(swap));
        random_state = 1;
        swap.gates = UINT32_MAX - 50;
        swap.card[3].capacity_bytes = 4 * GIB;
        swap.card[5].capacity_bytes = UINT64_MAX;
        for (unsigned i = 0; i < 40; i++)
                swap_add(&swap, SWAP_SESSIONS - 1 - i, i % 4 ? 3 : 5, i % 3, i % 7 ? 0 : i);
        for (unsigned i = 0; i < 40; i += 4)
                swap_remove(&swap, SWAP_SESSIONS - 1 - i);
        for (unsigned n = 0; n < 20000; n++) {
                struct swap_seen seen = { any_number(), any_number(), any_number(), any_number(),
                                          any_number(), chance(50),   chance(50) };

                swap_see(&swap, swap.list[random_below(swap.count)], &seen);
                now_ns = chance(1) ? any_number() / 1000 : now_ns + random_below(SECOND);
                swap_step(&swap, now_ns);
                check_told(&swap);
        }
        swap_step(&swap, UINT64_MAX - 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_always_holds_holds),
                cmocka_unit_test(no_number_does_harm),
                cmocka_unit_test(everybody_gets_its_turn_in_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
