/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is heard of two sessions that want the same GPU, at the times that a story says: the
 * scheduler's members without its thread, in front of real pages.
 */
#include "daemon/schedule/members.h"

#include <fcntl.h>

#include "daemon/schedule/seat.h"
#include "tenant_stage.h"

struct pair {
        struct members *members;
        struct tenant one, two;
        uint64_t now_ns;
};

static void pair_up(struct pair *pair, uint8_t class_of_one)
{
        struct tenant *const tenants[] = { &pair->one, &pair->two };
        struct seat *seat;

        pair->members = calloc(1, sizeof(*pair->members));
        sched_init(&pair->members->sched);
        for (unsigned i = 0; i < 2; i++) {
                tenant_begin(tenants[i], i ? "two" : "one", 0);
                tenants[i]->session.priority = i ? SCHED_CLASS_NORMAL : class_of_one;
                assert_int_equal(seat_open(&store, &tenants[i]->session, &seat, NULL), 0);
                members_seat(pair->members, seat);
                want(tenants[i]);
        }
        pair->now_ns = clock_now_ns();
        for (unsigned i = 0; i < 2; i++)
                members_hear(pair->members, &pair->members->seated[i], pair->now_ns);
        for (unsigned i = 0; i < 2; i++)
                members_watch(pair->members, &pair->members->seated[i], pair->now_ns);
}

static void pair_leave(struct pair *pair)
{
        for (unsigned i = 0; i < 2; i++)
                members_unseat(pair->members, &pair->members->seated[i], pair->now_ns);
        free(pair->members);
        tenant_end(&pair->one);
        tenant_end(&pair->two);
}

/* At `now_ns` of the pair; `one` is the first. */
static void hear(struct pair *pair, bool is_two)
{
        members_hear(pair->members, &pair->members->seated[is_two], pair->now_ns);
}

/* The look at all sessions has one time; who is let in by what is heard of the first is heard with
 * it too. */
static void who_is_let_in_while_we_look_has_time_to_begin(void **state)
{
        struct pair pair;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        clock_sleep_ns(3 * MS);
        pair.now_ns = clock_now_ns();
        clock_sleep_ns(MS / 10);
        hear(&pair, false); /* it did not begin: the other's turn */
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_OPEN);
        hear(&pair, true);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_OPEN);
        pair_leave(&pair);
}

/* It stood before the gate, had its turn and went: that it once wanted something is no reason to
 * let it in again, and again. */
static void a_want_that_was_answered_is_none(void **state)
{
        struct pair pair;

        pair_up(&pair, SCHED_CLASS_RT);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_OPEN);
        pair.now_ns += 2 * MS; /* it does not begin */
        hear(&pair, false);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_CLOSED);
        assert_int_equal(lease_of(&pair.one)->end_ns, pair.now_ns); /* who wants it now rings */
        for (unsigned i = 0; i < 10; i++) {
                pair.now_ns += MS;
                hear(&pair, false);
                assert_int_equal(mode_of(&pair.one), PAGE_MODE_CLOSED);
        }
        store_release(shared_word(&pair.one.pages.slots->meter[0].wanted_at_ns), pair.now_ns);
        hear(&pair, false);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_OPEN);
        pair_leave(&pair);
}

/* Its gate opens before it is heard that the one before is done: by so much as its launch comes
 * after an opening. */
static void who_says_when_it_will_be_done_is_followed_in_time(void **state)
{
        struct pair pair;
        uint64_t done_ns;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_OPEN);
        pair.members->sched.member[1].wake_ns = 80000;
        pair.now_ns = (pair.now_ns + MS) / 1000 * 1000;
        done_ns = pair.now_ns + 10 * MS;
        take_turn(&pair.one, done_ns);
        hear(&pair, false);
        pair.now_ns = done_ns - 5 * MS; /* the lease is over */
        members_tick(pair.members, pair.now_ns);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_CLOSED);
        hear(&pair, false);
        pair.now_ns = done_ns - 100000;
        members_tick(pair.members, pair.now_ns);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_CLOSED);
        pair.now_ns = done_ns - 70000;
        members_tick(pair.members, pair.now_ns);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_OPEN);
        pair_leave(&pair);
}

static void change_gang(struct pair *pair, bool is_two, const char *gang)
{
        struct seat_share share[SESSIONS_GPUS];

        seat_terms(is_two ? &pair->two.session : &pair->one.session, share);
        members_change(pair->members, &pair->members->seated[is_two], share, gang, pair->now_ns);
}

/* Of one owner; and two gangs that were one are two. */
static void sessions_that_say_the_same_gang_have_turns_together(void **state)
{
        struct pair pair;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        change_gang(&pair, false, "ranks");
        change_gang(&pair, true, "rank");
        assert_true(mode_of(&pair.one) == PAGE_MODE_CLOSED ||
                    mode_of(&pair.two) == PAGE_MODE_CLOSED);
        change_gang(&pair, true, "ranks");
        assert_true(mode_of(&pair.one) != PAGE_MODE_CLOSED &&
                    mode_of(&pair.two) != PAGE_MODE_CLOSED);
        change_gang(&pair, true, "ranks"); /* the same again disturbs nobody */
        assert_true(mode_of(&pair.one) != PAGE_MODE_CLOSED &&
                    mode_of(&pair.two) != PAGE_MODE_CLOSED);
        change_gang(&pair, false, "");
        assert_true(mode_of(&pair.one) == PAGE_MODE_CLOSED ||
                    mode_of(&pair.two) == PAGE_MODE_CLOSED);
        pair.members->seated[1].seat->owner_uid++;
        change_gang(&pair, false, "ranks");
        assert_true(mode_of(&pair.one) == PAGE_MODE_CLOSED ||
                    mode_of(&pair.two) == PAGE_MODE_CLOSED);
        pair_leave(&pair);
}

/* Also when the numbers begin anew. */
static void no_two_gangs_have_one_number(void **state)
{
        struct pair pair;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        pair.members->gangs = UINT32_MAX - 1;
        change_gang(&pair, false, "a");
        assert_int_equal(pair.members->seated[0].gang, UINT32_MAX);
        change_gang(&pair, true, "b");
        assert_int_equal(pair.members->seated[1].gang, 1);
        pair.members->gangs = UINT32_MAX - 1;
        change_gang(&pair, true, "c");
        assert_int_equal(pair.members->seated[1].gang, 2);
        pair_leave(&pair);
}

/* It is let in by the clock, so who was before it need not wake us for being done; and nobody is
 * listened to who waits for its turn. */
static void who_said_when_it_will_be_done_need_not_say_it_again(void **state)
{
        struct pair pair;
        struct seated *seated;
        uint64_t done_ns;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        seated = pair.members->seated;
        assert_true(members_may_ring(pair.members, &seated[0]));
        assert_false(members_may_ring(pair.members, &seated[1]));
        pair.now_ns += 4 * MS; /* the lease is over */
        done_ns = (pair.now_ns + 2 * MS) / 1000 * 1000;
        take_turn(&pair.one, done_ns);
        hear(&pair, false);
        members_tick(pair.members, pair.now_ns);
        hear(&pair, false);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_CLOSED);
        assert_int_equal(lease_of(&pair.one)->target_ns, 0);
        pair.now_ns = done_ns - 1000;
        members_tick(pair.members, pair.now_ns);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_OPEN);
        assert_int_equal(lease_of(&pair.one)->target_ns, 1);
        pair.now_ns = done_ns + MS; /* nobody has looked at it since */
        members_tick(pair.members, pair.now_ns);
        assert_false(pair.members->sched.member[0].is_draining);
        assert_false(members_may_ring(pair.members, &seated[0]));
        pair_leave(&pair);
}

/* rt opens beside what still runs, of which it is known at once how long it does: and both hear
 * until when what they measure holds the other's work. */
static void who_opens_beside_others_is_told_until_when_they_were_there(void **state)
{
        struct pair pair;
        struct page_meter *meter;
        uint64_t done_ns;

        pair_up(&pair, SCHED_CLASS_RT);
        meter = &pair.two.pages.slots->meter[0];
        pair.now_ns += 2 * MS; /* it does not begin */
        hear(&pair, false);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_OPEN);
        assert_int_equal(lease_of(&pair.two)->shared_until_ns, 0);
        done_ns = pair.now_ns + MS;
        take_turn(&pair.two, done_ns + 9 * MS);
        store_release(shared_word(&meter->done_at_ns), done_ns);
        hear(&pair, true);
        pair.now_ns += MS / 2;
        store_release(shared_word(&pair.one.pages.slots->meter[0].wanted_at_ns), pair.now_ns);
        hear(&pair, false);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_OPEN);
        hear(&pair, true);
        assert_int_equal(pair.members->sched.member[1].done_ns, done_ns);
        assert_int_equal(lease_of(&pair.one)->shared_until_ns, SEAT_SHARED);
        assert_int_equal(lease_of(&pair.two)->shared_until_ns, SEAT_SHARED);
        pair.now_ns += MS;
        store_release(shared_word(&meter->turn), 0);
        hear(&pair, true);
        assert_int_equal(lease_of(&pair.one)->shared_until_ns, pair.now_ns);
        assert_int_equal(lease_of(&pair.two)->shared_until_ns, pair.now_ns);
        pair_leave(&pair);
}

/* Not for what waking up takes anywhere, and not once it has woken up in time. */
static void who_wakes_up_late_goes_to_sleep_for_less(void **state)
{
        struct pair pair;
        bool is_busy;
        uint64_t end_ns;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        end_ns = lease_of(&pair.one)->end_ns;
        pair.members->member[0].look_ns = pair.members->member[1].look_ns = CLOCK_NEVER;
        assert_true(members_due_ns(pair.members, pair.now_ns, &is_busy) > end_ns);
        for (unsigned i = 0; i < 100; i++)
                members_note_late(pair.members, MS);
        assert_in_range(members_late_ns(pair.members), MS - 10000, MS);
        assert_in_range(pair.members->sched.coarse_ns, MS / 2 - 5000, MS / 2);
        /* Its holder wakes up late, too. */
        assert_int_equal(members_due_ns(pair.members, pair.now_ns, &is_busy), end_ns);
        for (unsigned i = 0; i < 100; i++)
                members_note_late(pair.members, 200000);
        assert_in_range(members_late_ns(pair.members), 190000, 200000);
        members_note_late(pair.members, 50000);
        assert_int_equal(members_late_ns(pair.members), 0);
        assert_int_equal(pair.members->sched.coarse_ns, 0);
        pair_leave(&pair);
}

/* Whoever comes in first when the thread was stopped, it is not paid for. */
static void the_time_that_it_was_away_is_nobodys(void **state)
{
        struct pair pair;
        struct seat_share share[SESSIONS_GPUS];
        int64_t held_ns;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_OPEN);
        held_ns = pair.members->sched.member[0].held_ns;
        pair.now_ns += 3000 * MS;
        seat_terms(&pair.one.session, share);
        members_change(pair.members, &pair.members->seated[0], share, "", pair.now_ns);
        assert_int_equal(pair.members->sched.member[0].held_ns, held_ns);
        hear(&pair, false);
        assert_int_equal(pair.members->sched.member[0].held_ns, held_ns);
        pair_leave(&pair);
}

/* The program: `sampled_ns` is raised first. */
static void use(struct pair *pair, uint64_t sampled_ns, uint64_t busy_ns)
{
        struct page_meter *meter = &pair->one.pages.slots->meter[0];

        add_relaxed(shared_word(&meter->sampled_ns), sampled_ns);
        add_acq_rel(shared_word(&meter->busy_ns), busy_ns);
}

/* Of what is beyond its turn, what samples stand for is kept, in whatever looks it is seen. */
static void samples_that_are_seen_before_what_they_tell_of_are_not_forgotten(void **state)
{
        struct pair pair;
        const struct sched_member *core;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        core = &pair.members->sched.member[0];
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_OPEN);
        use(&pair, 5 * MS, MS);
        hear(&pair, false);
        assert_int_equal(core->ahead_ns, MS);
        use(&pair, 0, 4 * MS);
        hear(&pair, false);
        assert_int_equal(core->ahead_ns, 5 * MS);
        use(&pair, 0, MS);
        hear(&pair, false);
        assert_int_equal(core->ahead_ns, 5 * MS);
        pair_leave(&pair);
}

static void samples_from_before_it_was_watched_tell_of_nothing_later(void **state)
{
        struct pair pair;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        use(&pair, 1000 * MS, 1000 * MS);
        members_begin_watch(pair.members, &pair.members->seated[0], pair.now_ns);
        use(&pair, 0, 10 * MS);
        hear(&pair, false);
        assert_int_equal(pair.members->sched.member[0].ahead_ns, 0);
        pair_leave(&pair);
}

static int set_up(void **state)
{
        return make_folder("members");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_is_let_in_while_we_look_has_time_to_begin),
                cmocka_unit_test(a_want_that_was_answered_is_none),
                cmocka_unit_test(who_says_when_it_will_be_done_is_followed_in_time),
                cmocka_unit_test(sessions_that_say_the_same_gang_have_turns_together),
                cmocka_unit_test(no_two_gangs_have_one_number),
                cmocka_unit_test(who_said_when_it_will_be_done_need_not_say_it_again),
                cmocka_unit_test(who_opens_beside_others_is_told_until_when_they_were_there),
                cmocka_unit_test(who_wakes_up_late_goes_to_sleep_for_less),
                cmocka_unit_test(the_time_that_it_was_away_is_nobodys),
                cmocka_unit_test(samples_that_are_seen_before_what_they_tell_of_are_not_forgotten),
                cmocka_unit_test(samples_from_before_it_was_watched_tell_of_nothing_later),
        };

        return cmocka_run_group_tests_name("members", tests, set_up, drop_folder);
}
