/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is heard of two sessions that want the same GPU, at the times that a story says: the
 * scheduler's members without its thread, in front of real pages.
 */
#include "daemon/schedule/members.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "daemon/schedule/seat.h"
#include "tenant_stage.h"

struct pair {
        struct members *members;
        struct tenant one, two;
        uint64_t now_ns;
};

static void hear_at(struct members *members, unsigned at, uint64_t now_ns)
{
        struct seat_head head;

        seat_look(members->seated[at].seat, &head);
        members_hear(members, &members->seated[at], &head, now_ns);
}

static char profile_of_one[8]; /* "": it is no container */

static void pair_up(struct pair *pair, uint8_t class_of_one)
{
        struct tenant *const tenants[] = { &pair->one, &pair->two };
        struct seat *seat;

        pair->members = calloc(1, sizeof(*pair->members));
        sched_init(&pair->members->sched);
        for (unsigned i = 0; i < 2; i++) {
                tenant_begin(tenants[i], i ? "two" : "one", 0);
                strcpy(tenants[i]->session.container.profile, i ? "" : profile_of_one);
                tenants[i]->session.priority = i ? SCHED_CLASS_NORMAL : class_of_one;
                assert_int_equal(seat_open(&store, &tenants[i]->session, &seat, NULL), 0);
                members_seat(pair->members, seat);
                want(tenants[i]);
        }
        pair->now_ns = clock_now_ns();
        for (unsigned i = 0; i < 2; i++)
                hear_at(pair->members, i, pair->now_ns);
        for (unsigned i = 0; i < 2; i++)
                members_watch(pair->members, &pair->members->seated[i], pair->now_ns);
}

static void pair_leave(struct pair *pair)
{
        for (unsigned i = 0; i < 2; i++)
                members_unseat(pair->members, &pair->members->seated[i], pair->now_ns);
        while (pair->members->leaving) {
                struct seat *seat = pair->members->leaving;

                pair->members->leaving = seat->next_leaving;
                seat_close(seat);
        }
        free(pair->members);
        tenant_end(&pair->one);
        tenant_end(&pair->two);
}

/* At `now_ns` of the pair; `one` is the first. */
static void hear(struct pair *pair, bool is_two)
{
        hear_at(pair->members, is_two, pair->now_ns);
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
        hear(&pair, true); /* nothing of it is in flight */
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_OPEN);
        pair_leave(&pair);
}

/* A millisecond later; the second stands before its gate. */
static void pass_ms(struct pair *pair)
{
        pair->now_ns += MS;
        store_release(shared_word(&pair->two.pages.slots->meter[0].wanted_at_ns), pair->now_ns);
        hear(pair, false);
        hear(pair, true);
        members_tick(pair->members, pair->now_ns);
}

static void keep_flying(struct pair *pair, const struct tenant *tenant, unsigned ms)
{
        for (unsigned i = 0; i < ms; i++) {
                fly(tenant, pair->now_ns + MS);
                pass_ms(pair);
        }
}

/* To copy the mapping, a fork would wait for who punches holes into the file. */
static void a_fork_has_no_page_of_a_tenant(void **state)
{
        struct pair pair;
        const void *bell;
        unsigned char is_there;
        int status = 0;
        pid_t child;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        bell = pair.members->seated[0].seat->bell;
        bell = (const char *)bell - (uintptr_t)bell % (uintptr_t)getpagesize();
        assert_int_equal(mincore((void *)(uintptr_t)bell, 1, &is_there), 0);
        child = fork();
        if (child == 0)
                _exit(mincore((void *)(uintptr_t)bell, 1, &is_there) == 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        pair_leave(&pair);
}

/* Its owner has used up its part of the scheduler's thread. */
static void who_is_not_heard_is_not_waited_for(void **state)
{
        struct pair pair;
        struct members *members;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        members = pair.members;
        for (unsigned i = 0; i < 5 && mode_of(&pair.one) == PAGE_MODE_OPEN; i++)
                keep_flying(&pair, &pair.one, 1);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_CLOSED);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_CLOSED); /* it waits for the drain */
        members_give_up(members, pair.now_ns);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_CLOSED);
        owners_charge(&members->owners, members->seated[0].owner, UINT64_MAX, pair.now_ns);
        members_give_up(members, pair.now_ns);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_OPEN);
        pair_leave(&pair);
}

/* A kernel that never ends, in a process that lives: the other waits for 20 ms. */
static void who_flies_on_when_its_turn_is_over_holds_nobody_up(void **state)
{
        struct pair pair;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        keep_flying(&pair, &pair.one, 5);
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_CLOSED);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_CLOSED);
        keep_flying(&pair, &pair.one, 25);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_OPEN);
        assert_true(pair.members->sched.member[0].is_late);
        land(&pair.one);
        hear(&pair, false);
        assert_false(pair.members->sched.member[0].is_late);
        pair_leave(&pair);
}

/* Its page says for ever that something is in flight; that it was seen so grows old. */
static void who_was_killed_in_flight_is_not_on_the_device_for_long(void **state)
{
        struct pair pair;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        keep_flying(&pair, &pair.one, 5);
        for (unsigned i = 0; i < 25; i++)
                pass_ms(&pair);
        assert_int_equal(mode_of(&pair.two), PAGE_MODE_OPEN);
        assert_false(pair.members->sched.member[0].is_draining);
        assert_false(pair.members->sched.member[0].is_wanting);
        pair_leave(&pair);
}

/* Another process of its session stands before the gate: the session wants the device, and has its
 * turns, whatever the one that was killed said last. */
static void one_that_was_killed_in_flight_takes_no_turn_from_its_session(void **state)
{
        struct pair pair;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        keep_flying(&pair, &pair.one, 5);
        for (unsigned i = 0; i < 25; i++) {
                store_release(shared_word(&pair.one.pages.slots->meter[0].wanted_at_ns),
                              pair.now_ns + MS);
                pass_ms(&pair);
        }
        assert_true(pair.members->sched.member[0].is_wanting);
        assert_false(pair.members->sched.member[0].is_draining);
        assert_false(pair.members->sched.member[0].is_late);
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

/* Who punches holes into its `slots` is distrusted. */
static void a_container_that_is_distrusted_is_no_other_session_of_roots(void **state)
{
        struct pair pair;
        const struct owners *owners;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        assert_int_equal(pair.members->seated[0].owner, pair.members->seated[1].owner);
        pair_leave(&pair);
        strcpy(profile_of_one, "4GiB");
        pair_up(&pair, SCHED_CLASS_NORMAL);
        profile_of_one[0] = '\0';
        members_distrust(pair.members, &pair.members->seated[0]);
        owners = &pair.members->owners;
        assert_true(owners->owner[pair.members->seated[0].owner].is_distrusted);
        assert_false(owners->owner[pair.members->seated[1].owner].is_distrusted);
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

/* Not for what waking up takes anywhere, and not once it has woken up in time. */
static void who_wakes_up_late_goes_to_sleep_for_less(void **state)
{
        struct pair pair;
        bool is_busy;
        uint64_t end_ns;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        end_ns = lease_of(&pair.one)->end_ns;
        for (unsigned i = 0; i < 2; i++)
                pair.members->member[pair.members->seated[i].member[0]].look_ns = CLOCK_NEVER;
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

/* A session that there is room for has a place in the scheduler, on each of its GPUs: no other can
 * have taken it. */
static void each_session_has_its_own_place_on_each_gpu(void **state)
{
        struct pair pair;
        struct members *members;
        struct tenant late;
        struct seat *crowd, *seat;
        const struct seat_claim claim = { 0 };

        pair_up(&pair, SCHED_CLASS_NORMAL);
        members = pair.members;
        tenant_begin(&late, "late", 0);
        late.session.priority = SCHED_CLASS_RT;
        assert_int_equal(seat_open(&store, &pair.one.session, &crowd, NULL), 0);
        crowd->share_count = SESSIONS_GPUS;
        for (unsigned i = 1; i < SESSIONS_GPUS; i++) {
                crowd->share[i] = crowd->share[0];
                crowd->share[i].uuid[0] = (uint8_t)(1 + i);
        }
        for (unsigned i = 2; i < SESSIONS_MAX - 1; i++) {
                members_seat(members, crowd);
                for (unsigned j = 0; i < 100 && j < SESSIONS_GPUS; j++)
                        members_add(members, &members->seated[i], j, &claim, pair.now_ns);
        }
        assert_int_equal(seat_open(&store, &late.session, &seat, NULL), 0);
        members_seat(members, seat);
        want(&late);
        hear_at(members, SESSIONS_MAX - 1, clock_now_ns());
        assert_true(members_has(&members->seated[SESSIONS_MAX - 1]));
        members_watch(members, &members->seated[SESSIONS_MAX - 1], clock_now_ns());
        assert_int_not_equal(load_acquire(shared_word(&late.pages.limits->scheduler_at_ns)), 0);
        for (unsigned i = 2; i < SESSIONS_MAX - 1; i++) {
                members_dismiss(members, &members->seated[i], pair.now_ns);
                owners_leave(&members->owners, members->seated[i].owner);
                members->seated[i].seat = NULL;
        }
        seat_close(crowd);
        members_unseat(members, &members->seated[SESSIONS_MAX - 1], clock_now_ns());
        tenant_end(&late);
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

static int set_up(void **state)
{
        return make_folder("members");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_is_let_in_while_we_look_has_time_to_begin),
                cmocka_unit_test(a_want_that_was_answered_is_none),
                cmocka_unit_test(who_is_not_heard_is_not_waited_for),
                cmocka_unit_test(a_fork_has_no_page_of_a_tenant),
                cmocka_unit_test(who_flies_on_when_its_turn_is_over_holds_nobody_up),
                cmocka_unit_test(who_was_killed_in_flight_is_not_on_the_device_for_long),
                cmocka_unit_test(one_that_was_killed_in_flight_takes_no_turn_from_its_session),
                cmocka_unit_test(sessions_that_say_the_same_gang_have_turns_together),
                cmocka_unit_test(a_container_that_is_distrusted_is_no_other_session_of_roots),
                cmocka_unit_test(no_two_gangs_have_one_number),
                cmocka_unit_test(who_wakes_up_late_goes_to_sleep_for_less),
                cmocka_unit_test(each_session_has_its_own_place_on_each_gpu),
                cmocka_unit_test(the_time_that_it_was_away_is_nobodys),
        };

        return cmocka_run_group_tests_name("members", tests, set_up, drop_folder);
}
