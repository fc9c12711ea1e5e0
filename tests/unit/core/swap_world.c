/* SPDX-License-Identifier: Apache-2.0 */
#include "swap_world.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/minmax.h"
#include "common/sums.h"

struct world world;

void world_begin(uint64_t capacity_bytes)
{
        memset(&world, 0, sizeof(world));
        world.now_ns = 100 * WORLD_SECOND;
        world.link_bytes = 24 * WORLD_MIB;
        world.segment_bytes = 64 * WORLD_MIB;
        world.swap.gates = 1000;
        world.swap.card[0].capacity_bytes = capacity_bytes;
        swap_step(&world.swap, world.now_ns);
}

struct world_session *world_add(unsigned entry, enum swap_class class, uint64_t swappable_bytes,
                                uint64_t pinned_bytes)
{
        struct world_session *session = &world.session[entry];

        *session = (struct world_session){ .is_here = true,
                                           .ask_bytes = swappable_bytes,
                                           .ask_pinned_bytes = pinned_bytes,
                                           .drain_ns = WORLD_MS };
        swap_add(&world.swap, entry, 0, class, 0);
        return session;
}

void world_remove(unsigned entry)
{
        world.session[entry].is_here = false;
        world.events++;
        swap_remove(&world.swap, entry);
}

uint64_t world_resident(const struct world_session *session)
{
        return session->pinned_bytes + session->swappable_bytes - session->out_bytes;
}

bool world_is_open(unsigned entry)
{
        return world.session[entry].is_here && world.session[entry].page.gate == 0;
}

/* -- What programs and their library do, by their pages ---------------------------------------- */

static bool is_drained(const struct world_session *session)
{
        return session->page.gate != 0 && session->gate == session->page.gate &&
               world.now_ns >= session->drained_ns;
}

static void follow_gate(struct world_session *session)
{
        if (session->gate == session->page.gate)
                return;
        session->gate = session->page.gate;
        session->drained_ns = sum_of(world.now_ns, session->drain_ns);
        if (session->gate) {
                session->held_moved_bytes = session->moved_bytes;
                session->held_events = world.events;
                return;
        }
        assert_int_equal(session->out_bytes, 0);
        /* It was not moved out and in for nothing. */
        if (world.is_calm && session->moved_bytes > session->held_moved_bytes)
                assert_true(world.events > session->held_events);
        world.turns++;
        world.events++;
        session->turns++;
}

static bool is_filling(const struct world_session *session)
{
        return session->swappable_bytes < session->fill_bytes;
}

static void allocate(struct world_session *session)
{
        uint64_t used_bytes = session->pinned_bytes + session->swappable_bytes;
        const struct swap_order *page = &session->page;

        if (is_drained(session))
                return;
        if (session->page.gate == 0 && is_filling(session) && !session->ask_bytes)
                session->ask_bytes = min_u64(session->block_bytes,
                                             session->fill_bytes - session->swappable_bytes);
        if (session->ask_pinned_bytes) {
                uint64_t pinned_bytes = session->pinned_bytes + session->ask_pinned_bytes;
                bool is_allowed = pinned_bytes <= page->pinned_bytes;

                if (is_allowed &&
                    world_resident(session) + session->ask_pinned_bytes <= page->resident_bytes) {
                        session->pinned_bytes = pinned_bytes;
                        session->ask_pinned_bytes = 0;
                        session->granted++;
                        world.events++;
                } else if (!is_allowed && session->wished_ns &&
                           session->answered_ns > session->wished_ns) {
                        session->ask_pinned_bytes = 0;
                        session->refused++;
                }
        }
        if (!session->ask_bytes)
                return;
        if (used_bytes + session->ask_bytes > page->max_bytes) {
                if (session->answered_ns) {
                        session->ask_bytes = 0;
                        session->refused++;
                }
        } else if (world_resident(session) + session->ask_bytes <= page->resident_bytes) {
                session->swappable_bytes += session->ask_bytes;
                session->ask_bytes = 0;
                session->granted++;
                world.events++;
        }
}

static void move(struct world_session *session, uint64_t ns)
{
        uint64_t left_bytes = world.link_bytes * ns / WORLD_MS, to_bytes;
        uint64_t before_bytes = session->out_bytes;

        if (!is_drained(session) || session->moves_nothing)
                return;
        to_bytes = max_u64(session->page.resident_bytes, session->pinned_bytes);
        while (world_resident(session) > to_bytes && left_bytes) {
                uint64_t bytes =
                        min_u64(world.segment_bytes, session->swappable_bytes - session->out_bytes);

                bytes = min_u64(bytes, left_bytes);
                session->out_bytes += bytes;
                left_bytes -= bytes;
        }
        while (session->out_bytes && left_bytes) {
                uint64_t bytes =
                        min_u64(min_u64(world.segment_bytes, session->out_bytes), left_bytes);

                if (world_resident(session) + bytes > session->page.resident_bytes)
                        break;
                session->out_bytes -= bytes;
                left_bytes -= bytes;
        }
        session->moved_bytes += session->out_bytes > before_bytes
                                        ? session->out_bytes - before_bytes
                                        : before_bytes - session->out_bytes;
}

static void act(uint64_t ns)
{
        for (unsigned i = 0; i < WORLD_SESSIONS; i++) {
                struct world_session *session = &world.session[i];

                if (!session->is_here)
                        continue;
                follow_gate(session);
                allocate(session);
                move(session, ns);
                if (session->page.gate == 0)
                        assert_int_equal(session->out_bytes, 0);
        }
}

static void count_time(uint64_t ns)
{
        bool is_wanted = false, is_running = false;

        for (unsigned i = 0; i < WORLD_SESSIONS; i++) {
                struct world_session *session = &world.session[i];

                if (!session->is_here || !session->is_busy)
                        continue;
                is_wanted = true;
                if (session->page.gate == 0 && !(is_filling(session) && session->ask_bytes)) {
                        is_running = true;
                        session->ran_ns += ns;
                        session->waited_ns = 0;
                } else {
                        session->waited_ns += ns;
                        session->longest_ns = max_u64(session->longest_ns, session->waited_ns);
                }
        }
        world.stopped_ns += is_wanted && !is_running ? ns : 0;
}

/* -- What the daemon does ---------------------------------------------------------------------- */

static void see(unsigned entry)
{
        struct world_session *session = &world.session[entry];
        struct swap_seen seen = {
                .used_bytes = session->pinned_bytes + session->swappable_bytes,
                .swappable_bytes = session->swappable_bytes,
                .out_bytes = session->out_bytes,
                .is_busy = session->is_busy && !is_filling(session),
                .is_drained = is_drained(session),
        };

        if (session->ask_bytes || session->ask_pinned_bytes)
                seen.wished_resident_bytes =
                        world_resident(session) + session->ask_bytes + session->ask_pinned_bytes;
        if (session->ask_pinned_bytes)
                seen.wished_pinned_bytes = session->pinned_bytes + session->ask_pinned_bytes;
        session->wished_ns = world.now_ns;
        swap_see(&world.swap, entry, &seen);
}

static void obey(unsigned entry)
{
        struct world_session *session = &world.session[entry];

        session->page = world.swap.session[entry].order;
        if (!world.swap.session[entry].is_asked)
                session->answered_ns = world.now_ns + 1;
}

static void check_sums(void)
{
        uint64_t capacity_bytes = world.swap.card[0].capacity_bytes;
        uint64_t resident_bytes = 0, pinned_bytes = 0;

        for (unsigned i = 0; i < WORLD_SESSIONS; i++) {
                const struct world_session *session = &world.session[i];

                if (!session->is_here)
                        continue;
                resident_bytes += max_u64(world_resident(session),
                                          world.swap.session[i].order.resident_bytes);
                pinned_bytes += world.swap.session[i].order.pinned_bytes;
        }
        if (world.is_unasked)
                return;
        assert_true(resident_bytes <= capacity_bytes);
        for (unsigned i = 0; i < WORLD_SESSIONS; i++) {
                const struct swap_order *order = &world.swap.session[i].order;
                const struct world_session *session = &world.session[i];
                uint64_t whole_bytes = session->pinned_bytes + session->swappable_bytes;

                if (!session->is_here)
                        continue;
                assert_true(order->max_bytes + pinned_bytes - order->pinned_bytes <=
                            capacity_bytes);
                for (unsigned j = 0; j < WORLD_SESSIONS; j++) {
                        if (j != i && world.session[j].is_here)
                                whole_bytes += world.session[j].pinned_bytes;
                }
                assert_true(whole_bytes <= capacity_bytes);
        }
}

void world_look(uint64_t ns)
{
        for (unsigned i = 0; i < WORLD_SESSIONS; i++) {
                if (world.session[i].is_here)
                        see(i);
        }
        act(0);
        swap_step(&world.swap, world.now_ns);
        for (unsigned i = 0; i < WORLD_SESSIONS; i++) {
                if (world.session[i].is_here)
                        obey(i);
        }
        check_sums();
        while (ns > 0) {
                uint64_t tick_ns = min_u64(ns, WORLD_MS);

                act(tick_ns);
                count_time(tick_ns);
                world.now_ns += tick_ns;
                ns -= tick_ns;
        }
        check_sums();
}

void world_run(uint64_t ns)
{
        uint64_t end_ns = world.now_ns + ns;

        while (world.now_ns < end_ns) {
                uint64_t next_ns = min_u64(swap_next_ns(&world.swap), end_ns);

                world_look(max_u64(next_ns, world.now_ns + WORLD_MS) - world.now_ns);
        }
}
