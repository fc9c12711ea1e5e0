/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random events in a random order, most of them true and some not: what always holds, holds.
 *
 * After each: one unit at most is open on a device; nobody who is in debt is opened; time
 * on a device is charged to the last nanosecond, once; no bucket rises faster than its cap; nobody
 * waits for a device on which nothing is; and what is due next lies ahead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/sched.h"

#define EVENTS 80000u
#define MEMBERS 14u
#define DEVICES 3u
#define FINE INT64_C(1000000)
#define BYTES offsetof(struct sched, member[MEMBERS]) /* of a struct sched that are used */

static struct {
        struct sched sched, before;
        struct sched_actions actions;
        int64_t now_ns;
        uint64_t random;
        unsigned opened, closed, freed, refused, ticks;
} run;

/* SplitMix64. */
static uint64_t random_below(uint64_t most)
{
        uint64_t z = run.random += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return (z ^ z >> 31) % most;
}

static bool chance(unsigned percent)
{
        return random_below(100) < percent;
}

/* -- What holds ------------------------------------------------------------------------------- */

static bool is_here(const struct sched_member *member)
{
        return member->mode != SCHED_MODE_NONE;
}

static bool is_open(const struct sched_member *member)
{
        return member->mode == SCHED_MODE_OPEN || member->mode == SCHED_MODE_FREE;
}

static bool is_on(const struct sched_member *member)
{
        return member->is_draining || member->mode == SCHED_MODE_OPEN ||
               (member->mode == SCHED_MODE_FREE && member->is_wanting);
}

static bool is_in_debt(const struct sched_member *member)
{
        return member->terms.cap_ppm < SCHED_WHOLE_PPM && member->bucket_fine <= 0;
}

static bool is_one_unit(const struct sched_member *a, const struct sched_member *b)
{
        return a == b || (a->terms.gang != 0 && a->terms.gang == b->terms.gang);
}

static void check_one_is_open(void)
{
        for (unsigned i = 0; i < MEMBERS; i++) {
                for (unsigned j = 0; j < i; j++) {
                        const struct sched_member *a = &run.sched.member[i];
                        const struct sched_member *b = &run.sched.member[j];

                        if (a->device == b->device && is_open(a) && is_open(b))
                                assert_true(is_one_unit(a, b));
                }
        }
}

static void check_actions(void)
{
        assert_true(run.actions.count <= SCHED_ACTIONS);
        for (unsigned i = 0; i < run.actions.count; i++) {
                const struct sched_action *action = &run.actions.action[i];
                const struct sched_member *member = &run.sched.member[action->member];

                assert_true(is_here(member));
                run.opened += action->type == SCHED_OPEN;
                run.closed += action->type == SCHED_CLOSE;
                run.freed += action->type == SCHED_FREE;
                if (action->type == SCHED_OPEN) {
                        assert_false(is_in_debt(member));
                        assert_true(action->end_ns > run.now_ns);
                }
                if (action->type == SCHED_OPEN || action->type == SCHED_FREE)
                        assert_true(action->target_ns >= 0 && is_open(member));
                else if (action->type != SCHED_ALARM)
                        assert_false(is_open(member));
        }
}

/* Between two steps, by what was before: all of the time is somebody's if anybody is on. */
static void check_charges(int64_t ns)
{
        for (unsigned d = 0; d < DEVICES; d++) {
                int64_t charged = 0;
                bool is_used = false;

                for (unsigned i = 0; i < MEMBERS; i++) {
                        const struct sched_member *before = &run.before.member[i];

                        if (!is_here(before) || before->device != d)
                                continue;
                        if (!is_here(&run.sched.member[i]))
                                return; /* removed, and its account with it */
                        charged += run.sched.member[i].held_ns - before->held_ns;
                        is_used |= is_on(before);
                        if (!is_on(before))
                                assert_int_equal(run.sched.member[i].held_ns, before->held_ns);
                }
                assert_int_equal(charged, is_used ? ns : 0);
        }
}

static void check_buckets(int64_t ns)
{
        for (unsigned i = 0; i < MEMBERS; i++) {
                const struct sched_member *before = &run.before.member[i];
                const struct sched_member *now = &run.sched.member[i];
                int64_t billed = now->billed_ns - before->billed_ns;

                if (!is_here(before) || !is_here(now))
                        continue;
                assert_true(now->bucket_fine <=
                            before->bucket_fine + before->terms.cap_ppm * ns - billed * FINE);
                assert_in_range(billed + SCHED_AHEAD_MAX_NS, 0,
                                SCHED_AHEAD_MAX_NS + before->untold_ns + ns);
                assert_true(now->billed_ns >= 0 && now->ahead_ns <= SCHED_AHEAD_MAX_NS);
        }
}

/* Whatever it says: for a second at most. */
static bool is_awaited(const struct sched_member *member)
{
        return member->is_draining && !member->is_late &&
               run.now_ns - member->close_ns < SCHED_DRAIN_MAX_NS;
}

/* Its own work is in the way: for a second at most. */
static bool may_be_passed_over(const struct sched_member *member)
{
        return member->is_late && member->is_draining &&
               run.now_ns - member->close_ns < SCHED_PASS_MAX_NS;
}

/* Somebody who could run, and nothing in the way. */
static void check_no_idling(void)
{
        for (unsigned d = 0; d < DEVICES; d++) {
                const struct sched_device *device = &run.sched.device[d];
                bool is_busy = device->claim != SCHED_MEMBERS || device->hold_ns > run.now_ns;
                bool is_wanted = false;

                for (unsigned i = 0; i < MEMBERS; i++) {
                        const struct sched_member *member = &run.sched.member[i];

                        if (!is_here(member) || member->device != d)
                                continue;
                        is_busy |= is_open(member) || is_awaited(member);
                        is_wanted |= member->is_wanting && member->terms.gang == 0 &&
                                     !is_in_debt(member) && !may_be_passed_over(member);
                }
                assert_true(is_busy || !is_wanted);
        }
}

static void step(const struct sched_event *event)
{
        int64_t ns = run.now_ns - run.sched.now_ns;

        memcpy(&run.before, &run.sched, BYTES);
        sched_step(&run.sched, event, run.now_ns, &run.actions);
        if (run.actions.refused) {
                run.refused++;
                assert_int_equal(run.actions.count, 0);
                assert_memory_equal(&run.sched, &run.before, BYTES);
                return;
        }
        check_actions();
        check_one_is_open();
        check_charges(ns);
        check_buckets(ns);
        check_no_idling();
        assert_true(sched_next_ns(&run.sched) > run.now_ns);
}

/* -- What happens ----------------------------------------------------------------------------- */

static void random_terms(struct sched_terms *terms)
{
        static const uint32_t caps[] = {
                SCHED_WHOLE_PPM, SCHED_WHOLE_PPM, 500000, 100000, 10000, 0
        };
        static const uint32_t weights[] = { 100, 100, 1, 10000, 0 };

        *terms = (struct sched_terms){ .cap_ppm = caps[random_below(chance(95) ? 5 : 6)],
                                       .weight = weights[random_below(chance(95) ? 4 : 5)],
                                       .class = (uint8_t)random_below(chance(95) ? 3 : 4) };
        if (chance(30))
                terms->guarantee_ppm = (uint32_t)random_below(300000);
        if (chance(40))
                terms->gang = 1 + (uint32_t)random_below(3);
}

static void pass_time(int64_t until_ns)
{
        const struct sched_event tick = { .type = SCHED_TICK };

        while (sched_next_ns(&run.sched) <= until_ns) {
                run.now_ns = sched_next_ns(&run.sched);
                step(&tick);
                run.ticks++;
        }
        run.now_ns = until_ns;
}

static void random_time(void)
{
        static const int64_t most[] = { 1, SCHED_US, 100 * SCHED_US, 3 * SCHED_MS };
        int64_t ns = (int64_t)random_below((uint64_t)most[random_below(4)] + 1);

        if (chance(1))
                ns = 300 * SCHED_MS;
        if (chance(20))
                run.now_ns += ns; /* nobody was awake */
        else
                pass_time(run.now_ns + ns);
}

static void random_event(void)
{
        struct sched_event event = { .type = (enum sched_event_type)random_below(SCHED_TICK + 1),
                                     .member = (uint16_t)random_below(MEMBERS),
                                     .device = (uint8_t)random_below(DEVICES) };
        int64_t untold_ns = run.sched.member[event.member].untold_ns;

        if (event.type == SCHED_REMOVE && chance(80))
                event.type = SCHED_WANT;
        if (event.type == SCHED_CHANGE && chance(50))
                event.type = SCHED_DRAINED;
        random_terms(&event.terms);
        event.ns = (int64_t)random_below((uint64_t)untold_ns + SCHED_MS) - SCHED_MS / 2;
        if (chance(5))
                event.ns = (int64_t)random_below(2) ? INT64_MAX : INT64_MIN;
        step(&event);
}

static void what_always_holds_holds(void **state)
{
        for (uint64_t seed = 1; seed <= 4; seed++) {
                memset(&run, 0, sizeof(run));
                run.random = seed;
                sched_init(&run.sched);
                for (unsigned n = 0; n < EVENTS / 4; n++) {
                        random_time();
                        random_event();
                }
                assert_true(run.opened > 300 && run.closed > 300 && run.freed > 30);
                assert_true(run.refused > 300);
                /* Sleeping until something is due is really sleeping. */
                assert_true(run.ticks < run.now_ns / (100 * SCHED_US));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_always_holds_holds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
