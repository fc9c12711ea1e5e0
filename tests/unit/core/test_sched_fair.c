/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Over a long time: nobody lags far behind, nobody runs far ahead, nobody starves, whatever the
 * weights and however long what they launch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/sched.h"

#define MOST 8u
#define SECOND (1000 * SCHED_MS)

static struct {
        struct sched sched;
        struct sched_actions actions;
        int64_t now_ns;
        uint64_t random;
        unsigned count;
        int64_t drain_max_ns; /* how long what was launched runs on after CLOSE */
        int64_t slow_ns;      /* the same of one of them */
        unsigned slow;
        int64_t drained_at[MOST];
        int64_t opened_at[MOST], longest_wait[MOST];
} run;

static int64_t random_ns(int64_t most)
{
        run.random = run.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (int64_t)(run.random >> 33) % (most + 1);
}

static void note(const struct sched_action *action)
{
        unsigned i = action->member;
        int64_t waited = run.now_ns - run.opened_at[i];

        if (action->type == SCHED_OPEN && waited > run.longest_wait[i])
                run.longest_wait[i] = waited;
        run.opened_at[i] = run.now_ns;
        run.drained_at[i] = SCHED_NEVER;
        if (action->type == SCHED_CLOSE)
                run.drained_at[i] =
                        run.now_ns +
                        (run.slow_ns && i == run.slow ? run.slow_ns : random_ns(run.drain_max_ns));
}

static void step_event(const struct sched_event *event)
{
        sched_step(&run.sched, event, run.now_ns, &run.actions);
        assert_null(run.actions.refused);
        for (unsigned n = 0; n < run.actions.count; n++)
                note(&run.actions.action[n]);
}

static void step(enum sched_event_type type, unsigned i)
{
        step_event(&(struct sched_event){ .type = type, .member = i });
}

/* SFQ: who runs was the one with least, so it is ahead by its own turn at most. */
static void check_lags(void)
{
        int64_t more = run.count > SCHED_LEASE_FEW ? run.count - SCHED_LEASE_FEW : 0;
        int64_t lease_ns = SCHED_LEASE_MIN_NS + more * SCHED_LEASE_EACH_NS;

        for (unsigned i = 0; i < run.count; i++) {
                const struct sched_member *member = &run.sched.member[i];
                int64_t ahead =
                        (int64_t)(member->vtime - run.sched.device[0].vtime[SCHED_CLASS_NORMAL]);
                int64_t ns = ahead / SCHED_WEIGHT_MAX * member->terms.weight;

                assert_true(ns >= -4 * lease_ns - SCHED_WEIGHT_MAX);
                assert_true(ns <= lease_ns + run.drain_max_ns + SCHED_WEIGHT_MAX);
        }
}

static int64_t next_of(unsigned *ret)
{
        int64_t next = sched_next_ns(&run.sched);

        *ret = MOST;
        for (unsigned i = 0; i < run.count; i++) {
                if (run.drained_at[i] < next) {
                        next = run.drained_at[i];
                        *ret = i;
                }
        }
        return next;
}

static void pass_time(int64_t until_ns, bool is_fair)
{
        for (;;) {
                unsigned who;
                int64_t next = next_of(&who);

                if (next > until_ns)
                        break;
                run.now_ns = next;
                if (who < MOST)
                        run.drained_at[who] = SCHED_NEVER;
                step(who < MOST ? SCHED_DRAINED : SCHED_TICK, who % MOST);
                if (is_fair)
                        check_lags();
        }
        run.now_ns = until_ns;
}

static void begin(uint64_t seed, int64_t drain_max_ns)
{
        memset(&run, 0, sizeof(run));
        sched_init(&run.sched);
        run.random = seed;
        run.drain_max_ns = drain_max_ns;
        for (unsigned i = 0; i < MOST; i++)
                run.drained_at[i] = SCHED_NEVER;
}

static void join_on(uint8_t device, const struct sched_terms *terms)
{
        step_event(&(struct sched_event){
                .type = SCHED_ADD, .member = run.count, .device = device, .terms = *terms });
        run.count++;
}

static void join(const struct sched_terms *terms)
{
        join_on(0, terms);
}

static void all_want(void)
{
        for (unsigned i = 0; i < run.count; i++)
                step(SCHED_WANT, i);
}

static void nobody_is_far_ahead_or_behind(void **state)
{
        static const uint32_t weights[] = { 100, 100, 50, 1000, 300, 50 };

        for (uint64_t seed = 1; seed <= 8; seed++) {
                begin(seed, random_ns(20 * SCHED_MS) + seed * SCHED_MS);
                for (unsigned i = 0; i < 6; i++)
                        join(&(struct sched_terms){ .cap_ppm = SCHED_WHOLE_PPM,
                                                    .weight = weights[i],
                                                    .class = SCHED_CLASS_NORMAL });
                all_want();
                pass_time(60 * SECOND, true);
                for (unsigned i = 0; i < 6; i++) {
                        int64_t due = 60 * SECOND * weights[i] / 1600;
                        int64_t off = run.sched.member[i].held_ns - due;

                        assert_true(off < 50 * SCHED_MS && off > -50 * SCHED_MS);
                }
        }
}

/* Who was away for long gets four leases at once, and no more. */
static void who_was_away_catches_up_with_nobody(void **state)
{
        const struct sched_terms terms = { .cap_ppm = SCHED_WHOLE_PPM,
                                           .weight = 100,
                                           .class = SCHED_CLASS_NORMAL };
        int64_t held;

        begin(1, 0);
        for (unsigned i = 0; i < 2; i++)
                join(&terms);
        step(SCHED_WANT, 0);
        pass_time(10 * SECOND, true);
        step(SCHED_WANT, 1);
        held = run.sched.member[0].held_ns;
        pass_time(11 * SECOND, true);
        held = run.sched.member[0].held_ns - held;
        assert_true(held > 500 * SCHED_MS - 5 * SCHED_LEASE_MIN_NS && held <= 500 * SCHED_MS);
}

/* Whatever the ranks, whoever may run does so again in some seconds: the floor. */
static void nobody_starves(void **state)
{
        begin(1, SCHED_MS);
        for (unsigned i = 0; i < MOST; i++)
                join(&(struct sched_terms){ .cap_ppm = SCHED_WHOLE_PPM,
                                            .guarantee_ppm = i == 3 ? 600000 : 0,
                                            .weight = i == 5 ? SCHED_WEIGHT_MAX : 1,
                                            .class = i < 2 ? SCHED_CLASS_RT : i % 2 });
        all_want();
        pass_time(120 * SECOND, false);
        for (unsigned i = 0; i < MOST; i++) {
                assert_true(run.sched.member[i].leases > 100);
                assert_true(run.longest_wait[i] < 2 * SECOND);
                if (i > 1) /* each of six has a sixth of the floor; that of 3 is in its guarantee */
                        assert_true(run.sched.member[i].held_ns > 120 * SECOND / 700);
        }
        assert_true(run.sched.member[3].held_ns > 120 * SECOND * 59 / 100);
}

static int64_t held_percent(unsigned i, int64_t of_ns)
{
        return 100 * run.sched.member[i].held_ns / of_ns;
}

/* rt that comes back every 300 us, for 100: to keep the device for it all the time would cost three
 * quarters of it. */
static void what_is_kept_for_rt_is_bounded(void **state)
{
        struct sched_terms terms = { .cap_ppm = SCHED_WHOLE_PPM, .weight = 100 };

        begin(1, 0);
        join(&terms);
        terms.class = SCHED_CLASS_RT;
        join(&terms);
        step(SCHED_WANT, 0);
        for (unsigned n = 0; n < 10000; n++) {
                step(SCHED_WANT, 1);
                pass_time(run.now_ns + 100 * SCHED_US, false);
                step(SCHED_RESTS, 1);
                pass_time(run.now_ns + 300 * SCHED_US, false);
        }
        assert_in_range(held_percent(0, run.now_ns), 69, 72);
}

/* Who comes back every 300 us to work for 50, with hand-overs of 100 us there and back: to end a
 * turn for it each time would cost two thirds of the device. */
static void what_ending_turns_early_costs_is_bounded(void **state)
{
        const struct sched_terms terms = { .cap_ppm = SCHED_WHOLE_PPM, .weight = 100 };

        begin(1, 0);
        join(&terms);
        join(&terms);
        run.sched.device[0].gap_ns = 100 * SCHED_US;
        step(SCHED_WANT, 0);
        for (unsigned n = 0; n < 10000; n++) {
                step(SCHED_WANT, 1);
                pass_time(run.now_ns + 50 * SCHED_US, false);
                step(SCHED_RESTS, 1);
                pass_time(run.now_ns + 250 * SCHED_US, false);
        }
        /* 5 % of 3 s, at 200 us each. */
        assert_in_range(run.sched.member[1].leases, 700, 1000);
}

/* A turn that pays a promise can be ten times as long as what was owed; all of it is paid. */
static void a_guarantee_of_long_kernels_is_not_exceeded(void **state)
{
        begin(1, 40 * SCHED_MS);
        join(&(struct sched_terms){
                .cap_ppm = SCHED_WHOLE_PPM, .guarantee_ppm = 100000, .weight = 1 });
        join(&(struct sched_terms){ .cap_ppm = SCHED_WHOLE_PPM, .weight = SCHED_WEIGHT_MAX });
        all_want();
        pass_time(60 * SECOND, false);
        assert_in_range(run.sched.member[0].held_ns / SCHED_MS, 5900, 6600);
}

/* Member 0 works from its opening, and says 150 us later that it begins now. */
static void forge(int64_t until_ns, bool gives_up)
{
        for (int64_t at = run.now_ns; at < until_ns; at += 10 * SCHED_US) {
                const struct sched_member *member = &run.sched.member[0];

                pass_time(at, false);
                if (member->mode != SCHED_MODE_OPEN || member->is_begun ||
                    at - member->open_ns < 150 * SCHED_US)
                        continue;
                step(SCHED_BEGAN, 0);
                if (gives_up) {
                        step(SCHED_RESTS, 0);
                        step(SCHED_WANT, 0);
                }
        }
}

/* Also of who gives its turn up as soon as it has said that. */
static void who_says_that_it_begins_late_has_no_more_than_its_guarantee(void **state)
{
        for (uint32_t percent = 5; percent <= 90; percent += 5) {
                struct sched_terms terms = { .cap_ppm = SCHED_WHOLE_PPM,
                                             .guarantee_ppm = percent * 10000,
                                             .weight = 100,
                                             .class = SCHED_CLASS_NORMAL };

                begin(1, 0);
                join(&terms);
                terms.guarantee_ppm = 0;
                terms.class = SCHED_CLASS_RT;
                join(&terms);
                all_want();
                forge(5 * SECOND, false);
                assert_in_range(held_percent(0, 5 * SECOND), percent - 1, percent);
                forge(10 * SECOND, true);
                assert_true(held_percent(0, 10 * SECOND) <= percent);
        }
}

/* What a guarantee gave above the weights is not taken back when it ends. */
static void who_had_a_guarantee_is_not_punished(void **state)
{
        struct sched_terms terms = { .cap_ppm = SCHED_WHOLE_PPM,
                                     .guarantee_ppm = 800000,
                                     .weight = 100 };
        int64_t held;

        begin(1, SCHED_MS);
        join(&terms);
        terms.guarantee_ppm = 0;
        join(&terms);
        all_want();
        pass_time(10 * SECOND, false);
        held = run.sched.member[0].held_ns;
        assert_true(held > 7950 * SCHED_MS);
        step_event(&(struct sched_event){ .type = SCHED_CHANGE, .terms = terms });
        pass_time(11 * SECOND, false);
        held = run.sched.member[0].held_ns - held;
        assert_in_range(held / SCHED_MS, 470, 530);
}

/* Who has the device but uses little of it cannot save that for later. */
static void a_cap_that_is_not_used_is_not_saved(void **state)
{
        begin(1, 0);
        join(&(struct sched_terms){ .cap_ppm = 200000, .weight = 100 });
        all_want();
        for (unsigned n = 0; n < 1000; n++) {
                pass_time(run.now_ns + 10 * SCHED_MS, false);
                step_event(&(struct sched_event){ .type = SCHED_USED, .ns = SCHED_MS / 2 });
                assert_true(sched_bucket_ns(&run.sched, 0) <= 15 * SCHED_MS);
        }
}

/* A debt is worked off by its cap's rate, however the terms changed meanwhile. */
static void debt_is_never_forgiven(void **state)
{
        struct sched_terms terms = { .cap_ppm = 250000,
                                     .weight = 100,
                                     .class = SCHED_CLASS_NORMAL };
        int64_t used = 0;

        begin(7, 3 * SCHED_MS);
        join(&terms);
        join(&(struct sched_terms){ .cap_ppm = SCHED_WHOLE_PPM, .weight = 1 });
        step(SCHED_WANT, 1);
        for (unsigned n = 1; n <= 4000; n++) {
                struct sched_event event = { .type = SCHED_USED, .ns = SECOND };

                step(random_ns(9) < 8 ? SCHED_WANT : SCHED_RESTS, 0);
                pass_time(run.now_ns + random_ns(4 * SCHED_MS), false);
                step_event(&event);
                if (n % 500 == 0) {
                        terms.weight = n;
                        step_event(&(struct sched_event){ .type = SCHED_CHANGE, .terms = terms });
                }
                used = run.sched.member[0].billed_ns;
                /* Never more than the cap has given, by more than one turn and its drain. */
                assert_true(used <= run.now_ns / 4 + 10 * SCHED_MS);
        }
        assert_true(used > run.now_ns / 8);
}

/* Members 0 and 1 are a gang. Two others want its second device, so it gets a third of both, and
 * the device on which one other is gives that the rest. */
static void a_gang_gets_what_is_fair_where_most_want(void **state)
{
        const struct sched_terms one = { .cap_ppm = SCHED_WHOLE_PPM,
                                         .weight = 100,
                                         .class = SCHED_CLASS_NORMAL };
        struct sched_terms gang = one;

        gang.gang = 1;
        begin(3, SCHED_MS);
        join_on(0, &gang);
        join_on(1, &gang);
        join_on(0, &one);
        join_on(1, &one);
        join_on(1, &one);
        all_want();
        pass_time(20 * SECOND, false);
        for (unsigned i = 0; i < MOST; i++)
                assert_in_range(held_percent(i, 20 * SECOND), i < 5 ? 29 : 0, i == 2 ? 66 : 36);
        assert_true(held_percent(2, 20 * SECOND) > 50);
}

/* A gang has its turns on device 0 beside a heavy one whose kernels run on for long, so that device
 * 1 stands idle until it may begin. That is the gang's time: who wants device 1 alone has its half
 * of it, or what it was promised. */
static void a_gang_that_waits_elsewhere_takes_nobodys_share(void **state)
{
        for (int64_t drain_ns = SCHED_MS; drain_ns < 1000 * SCHED_MS; drain_ns *= 9) {
                for (uint32_t percent = 0; percent <= 90; percent += 45) {
                        struct sched_terms gang = { .cap_ppm = SCHED_WHOLE_PPM,
                                                    .weight = 100,
                                                    .gang = 1,
                                                    .class = SCHED_CLASS_NORMAL };
                        struct sched_terms one = gang, heavy = gang;
                        unsigned least = percent ? percent - 2 : 32;

                        one.gang = heavy.gang = 0;
                        one.guarantee_ppm = percent * 10000;
                        heavy.weight = 200;
                        begin(11, SCHED_MS / 5);
                        join_on(0, &gang);
                        join_on(1, &gang);
                        join_on(0, &heavy);
                        join_on(1, &one);
                        run.slow = 2;
                        run.slow_ns = drain_ns;
                        all_want();
                        pass_time(30 * SECOND, false);
                        assert_true(held_percent(3, 30 * SECOND) >= least);
                        assert_true(held_percent(1, 30 * SECOND) >= 3);
                }
        }
}

/* Its floor too is no more than that, with the time for which the devices are kept for it. */
static void a_gang_that_waits_elsewhere_takes_little_of_rt(void **state)
{
        struct sched_terms gang = {
                .cap_ppm = SCHED_WHOLE_PPM, .weight = 100, .gang = 1, .class = SCHED_CLASS_NORMAL
        };
        struct sched_terms heavy = gang, rt = gang;

        heavy.gang = rt.gang = 0;
        rt.class = SCHED_CLASS_RT;
        begin(12, SCHED_MS / 5);
        join_on(0, &gang);
        join_on(1, &gang);
        join_on(0, &heavy);
        join_on(1, &rt);
        run.slow = 2;
        run.slow_ns = 40 * SCHED_MS;
        all_want();
        pass_time(60 * SECOND, false);
        assert_true(held_percent(3, 60 * SECOND) >= 97);
        assert_true(run.sched.member[1].held_ns > 60 * SECOND / 1000);
}

/* A promise to a gang is kept above class, as to anybody else; and it is no more than that. */
static void a_gang_of_batch_has_its_floor_and_its_guarantee(void **state)
{
        for (uint32_t guarantee_ppm = 0; guarantee_ppm <= 300000; guarantee_ppm += 150000) {
                const struct sched_terms other = { .cap_ppm = SCHED_WHOLE_PPM,
                                                   .weight = 10000,
                                                   .class = SCHED_CLASS_NORMAL };
                const struct sched_terms gang = { .cap_ppm = SCHED_WHOLE_PPM,
                                                  .weight = 100,
                                                  .gang = 1,
                                                  .class = SCHED_CLASS_BATCH,
                                                  .guarantee_ppm = guarantee_ppm };
                int64_t due = 20 * SECOND / 1000000 *
                              (guarantee_ppm ? guarantee_ppm : SCHED_FLOOR_PPM / 2);
                int64_t most;

                begin(7, SCHED_MS);
                join_on(0, &gang);
                join_on(1, &gang);
                join_on(0, &other);
                all_want();
                pass_time(20 * SECOND, false);
                /* Of 1 alone on its device all of the floor is its own. */
                most = guarantee_ppm ? due + due / 10 : 3 * due;
                for (unsigned i = 0; i < 2; i++) {
                        assert_true(run.sched.member[i].held_ns > due - due / 20);
                        assert_true(run.sched.member[i].held_ns < most);
                }
        }
}

/* Members 0 and 1 are a gang on one device. What 0 leaves by pausing is not for 1 alone. */
static void a_gang_on_one_device_has_no_more_than_who_has_most_of_it(void **state)
{
        const struct sched_terms one = { .cap_ppm = SCHED_WHOLE_PPM,
                                         .weight = 100,
                                         .class = SCHED_CLASS_NORMAL };
        struct sched_terms gang = one;

        gang.gang = 1;
        begin(9, SCHED_MS);
        join(&gang);
        join(&gang);
        join(&one);
        all_want();
        for (int64_t at = 0; at < 20 * SECOND; at += SCHED_MS / 2) {
                pass_time(at, false);
                step(at / SCHED_MS % 2 ? SCHED_RESTS : SCHED_WANT, 0);
        }
        assert_in_range(held_percent(2, 20 * SECOND), held_percent(1, 20 * SECOND) - 2, 50);
        assert_true(held_percent(0, 20 * SECOND) > 5);
}

/* Three gangs, each pair of which meets on one device: they never wait in a circle. */
static void gangs_in_a_circle_all_run(void **state)
{
        struct sched_terms gang = { .cap_ppm = SCHED_WHOLE_PPM,
                                    .weight = 100,
                                    .class = SCHED_CLASS_NORMAL };

        begin(5, SCHED_MS);
        for (uint8_t n = 0; n < 3; n++) {
                gang.gang = n + 1u;
                join_on(n, &gang);
                join_on((uint8_t)((n + 1) % 3), &gang);
        }
        all_want();
        pass_time(20 * SECOND, false);
        for (unsigned i = 0; i < 6; i++) {
                assert_true(held_percent(i, 20 * SECOND) > 25);
                assert_true(run.longest_wait[i] < 100 * SCHED_MS);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nobody_is_far_ahead_or_behind),
                cmocka_unit_test(who_was_away_catches_up_with_nobody),
                cmocka_unit_test(nobody_starves),
                cmocka_unit_test(what_is_kept_for_rt_is_bounded),
                cmocka_unit_test(what_ending_turns_early_costs_is_bounded),
                cmocka_unit_test(a_guarantee_of_long_kernels_is_not_exceeded),
                cmocka_unit_test(who_says_that_it_begins_late_has_no_more_than_its_guarantee),
                cmocka_unit_test(who_had_a_guarantee_is_not_punished),
                cmocka_unit_test(a_cap_that_is_not_used_is_not_saved),
                cmocka_unit_test(debt_is_never_forgiven),
                cmocka_unit_test(a_gang_gets_what_is_fair_where_most_want),
                cmocka_unit_test(a_gang_that_waits_elsewhere_takes_nobodys_share),
                cmocka_unit_test(a_gang_that_waits_elsewhere_takes_little_of_rt),
                cmocka_unit_test(a_gang_of_batch_has_its_floor_and_its_guarantee),
                cmocka_unit_test(a_gang_on_one_device_has_no_more_than_who_has_most_of_it),
                cmocka_unit_test(gangs_in_a_circle_all_run),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
