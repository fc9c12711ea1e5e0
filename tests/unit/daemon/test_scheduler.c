/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler's thread in front of real pages; the tests play the sessions' programs. What it
 * decides is core/sched's, and tested there: here, that it hears what sessions say, that they
 * hear what it says, and that a session's pages can hold anything.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "daemon/folder.h"
#include "daemon/schedule/guard.h"
#include "daemon/schedule/members.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/schedule/seat.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define MS UINT64_C(1000000)
#define PATIENCE_NS (20000 * MS) /* a bound on hangs: things happen within milliseconds */

static struct store store;
static struct scheduler *scheduler;
static struct cards cards = { .count = 1, .card = { { .uuid = { 1 }, .total_bytes = 16 * GIB } } };

/* A session and what its programs have mapped of it. */
struct tenant {
        struct sessions_one session;
        struct store_session pages;
};

static void admit(struct tenant *tenant, const char *name, uint32_t cap_milli_percent)
{
        struct error err;

        *tenant = (struct tenant){ .session = {
                                           .weight = 100,
                                           .priority = 1,
                                           .share_count = 1,
                                           .owner_uid = geteuid(),
                                           .state = SESSIONS_OPEN,
                                           .share = { { .uuid = { 1 }, .memory_bytes = GIB } } } };
        snprintf(tenant->session.name, sizeof(tenant->session.name), "%s", name);
        memcpy(tenant->session.id, name, strlen(name));
        tenant->session.share[0].compute_milli_percent = cap_milli_percent;
        if (folder_make(&store, &tenant->session, &cards, &err) < 0 ||
            scheduler_put(scheduler, &tenant->session, &err) < 0 ||
            store_join(&store, name, false, &tenant->pages, &err) < 0)
                fail_msg("%s: %s", name, err.text);
}

static const struct page_lease *lease_of(const struct tenant *tenant)
{
        return &tenant->pages.limits->device[0].lease;
}

static uint32_t mode_of(const struct tenant *tenant)
{
        return load_acquire(shared_half(&lease_of(tenant)->mode));
}

static bool is_watched(const struct tenant *tenant)
{
        return load_acquire(shared_word(&tenant->pages.limits->scheduler_at_ns)) != 0;
}

static void ring(const struct tenant *tenant)
{
        add_acq_rel(shared_half(&tenant->pages.slots->bell), 1);
        clock_wake(shared_half(&tenant->pages.slots->bell), 1);
}

static void want(const struct tenant *tenant)
{
        store_release(shared_word(&tenant->pages.slots->meter[0].wanted_at_ns), clock_now_ns());
        ring(tenant);
}

/* As a shim does: works while the gate is open, gives the turn up when it is closed, and stands
 * before it. */
struct life {
        bool is_running;
        unsigned turns; /* it was let in */
        unsigned looks; /* at which it was in */
};

static void live(const struct tenant *tenant, struct life *life)
{
        struct page_meter *meter = &tenant->pages.slots->meter[0];
        bool is_open = mode_of(tenant) != PAGE_MODE_CLOSED;
        uint64_t now_ns = clock_now_ns();

        if (is_open && is_watched(tenant)) {
                store_release(shared_word(&meter->turn),
                              PAGE_TURN_TAKEN | (now_ns + 50 * MS) / 1000 << PAGE_TURN_TIME_SHIFT);
                add_relaxed(shared_word(&meter->busy_ns), 10000);
                life->turns += !life->is_running;
                life->is_running = true;
                life->looks++;
        } else if (life->is_running) {
                store_release(shared_word(&meter->turn), 0);
                life->is_running = false;
                want(tenant);
        } else if (now_ns - load_relaxed(shared_word(&meter->wanted_at_ns)) > 5 * MS) {
                want(tenant);
        }
}

static void pause_a_little(void)
{
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

#define wait_until(condition)                                        \
        do {                                                         \
                uint64_t begun_ns = clock_now_ns();                  \
                while (!(condition)) {                               \
                        if (clock_now_ns() - begun_ns > PATIENCE_NS) \
                                fail_msg("never: %s", #condition);   \
                        pause_a_little();                            \
                }                                                    \
        } while (0)

static void leave(struct tenant *tenant)
{
        scheduler_drop(scheduler, tenant->session.id);
        store_close(&tenant->pages);
        folder_remove(&store, &tenant->session, NULL);
}

/* -- Stories ---------------------------------------------------------------------------------- */

/* Who is alone and has no cap pays nothing for a scheduler. */
static void alone_is_free_and_not_watched(void **state)
{
        struct tenant one;
        struct scheduler_view view;

        admit(&one, "one", 0);
        assert_false(scheduler_read(scheduler, one.session.id, 0, &view));
        want(&one);
        wait_until(scheduler_read(scheduler, one.session.id, 0, &view));
        wait_until(mode_of(&one) == PAGE_MODE_FREE);
        assert_false(is_watched(&one));
        leave(&one);
}

static void a_cap_is_watched_also_alone(void **state)
{
        struct tenant one;

        admit(&one, "one", 30000);
        assert_int_equal(one.pages.limits->device[0].cap_ppm, 300000);
        want(&one);
        wait_until(is_watched(&one) && mode_of(&one) == PAGE_MODE_FREE);
        leave(&one);
}

static void two_take_turns(void **state)
{
        struct tenant one, two;
        struct life first = { 0 }, second = { 0 };
        struct scheduler_view view;
        uint64_t begun_ns = clock_now_ns();

        admit(&one, "one", 0);
        admit(&two, "two", 0);
        want(&one);
        want(&two);
        while (first.turns < 5 || second.turns < 5) {
                live(&one, &first);
                live(&two, &second);
                pause_a_little();
                if (clock_now_ns() - begun_ns > PATIENCE_NS)
                        fail_msg("%u turns and %u", first.turns, second.turns);
        }
        assert_true(is_watched(&one) && is_watched(&two));
        assert_true(scheduler_read(scheduler, one.session.id, 0, &view));
        assert_true(view.leases >= 5 && view.held_ns > 0 && view.billed_ns > 0);
        /* The other goes: the first has the device for itself again. */
        leave(&two);
        begun_ns = clock_now_ns();
        while (mode_of(&one) != PAGE_MODE_FREE && clock_now_ns() - begun_ns < PATIENCE_NS) {
                live(&one, &first);
                pause_a_little();
        }
        assert_int_equal(mode_of(&one), PAGE_MODE_FREE);
        leave(&one);
}

/* Whoever has stopped, or lies about it, keeps nobody out. */
static void a_holder_that_never_lets_go_is_passed_over(void **state)
{
        struct tenant one, two;
        struct life second = { 0 };
        uint64_t begun_ns = clock_now_ns();

        admit(&one, "one", 0);
        admit(&two, "two", 0);
        want(&one);
        store_release(shared_word(&one.pages.slots->meter[0].turn), UINT64_MAX);
        want(&two);
        while (second.looks < 1000) {
                live(&two, &second);
                pause_a_little();
                if (clock_now_ns() - begun_ns > PATIENCE_NS)
                        fail_msg("in for %u looks", second.looks);
        }
        leave(&one);
        leave(&two);
}

/* Any words in `slots`, also none at all: the others go on. */
static void a_session_that_spoils_its_pages_harms_itself(void **state)
{
        struct tenant one, two;
        struct life second = { 0 };
        uint64_t begun_ns = clock_now_ns();
        char path[STORE_PATH_BYTES + 16];

        assert_int_equal(guard_start(NULL), 0); /* cmocka has put its own handler there */
        admit(&one, "bad", 0);
        admit(&two, "two", 0);
        want(&one);
        want(&two);
        memset(one.pages.slots->meter, 0xff, sizeof(one.pages.slots->meter));
        ring(&one);
        snprintf(path, sizeof(path), "%s/slots", one.pages.path);
        for (unsigned round = 0; round < 2; round++) {
                unsigned before = second.looks;

                while (second.looks < before + 1000) {
                        live(&two, &second);
                        pause_a_little();
                        if (clock_now_ns() - begun_ns > PATIENCE_NS)
                                fail_msg("round %u: in for %u looks", round, second.looks);
                }
                assert_int_equal(truncate(path, 0), 0);
        }
        leave(&two);
        scheduler_drop(scheduler, one.session.id);
}

static void terms_change_live(void **state)
{
        char path[STORE_PATH_BYTES + 16], away[STORE_PATH_BYTES + 16];
        struct tenant one;

        admit(&one, "one", 0);
        want(&one);
        wait_until(mode_of(&one) == PAGE_MODE_FREE);
        assert_false(is_watched(&one));
        one.session.share[0].compute_milli_percent = 50000;
        snprintf(path, sizeof(path), "%s/slots", one.pages.path);
        snprintf(away, sizeof(away), "%s/away", one.pages.path);
        assert_int_equal(rename(path, away), 0); /* what is mapped is not opened again */
        assert_int_equal(scheduler_put(scheduler, &one.session, NULL), 0);
        assert_int_equal(rename(away, path), 0);
        wait_until(is_watched(&one));
        leave(&one);
}

/* It is alone and would be FREE; clamped it has leases, and what is found closes its gate. */
static void who_is_not_believed_has_leases_and_pays(void **state)
{
        struct scheduler_claim claim;
        struct tenant one;

        admit(&one, "one", 50000);
        store_relaxed(shared_word(&one.pages.slots->meter[0].busy_ns), 7);
        store_relaxed(shared_word(&one.pages.slots->meter[0].bank_ns), (uint64_t)-9);
        want(&one);
        wait_until(mode_of(&one) == PAGE_MODE_FREE && is_watched(&one));
        assert_true(scheduler_claim(scheduler, one.session.id, 0, &claim));
        assert_true(claim.is_watched && claim.is_free);
        assert_int_equal(claim.busy_ns, 7);
        assert_int_equal(claim.owed_ns, 9);
        scheduler_charge(scheduler, one.session.id, 0, 2000 * MS, 0);
        scheduler_clamp(scheduler, one.session.id, 0, true);
        assert_int_equal(mode_of(&one), PAGE_MODE_CLOSED);
        assert_true(scheduler_claim(scheduler, one.session.id, 0, &claim));
        assert_false(claim.is_free);
        /* Other terms do not get it out. */
        assert_int_equal(scheduler_put(scheduler, &one.session, NULL), 0);
        assert_int_equal(mode_of(&one), PAGE_MODE_CLOSED);
        scheduler_clamp(scheduler, one.session.id, 0, false);
        wait_until(mode_of(&one) == PAGE_MODE_FREE);
        scheduler_clamp(scheduler, one.session.id, 1, true); /* has none */
        leave(&one);
        assert_false(scheduler_claim(scheduler, one.session.id, 0, &claim));
}

/* Also of sessions that are gone; what was counted before it was there to see is not. */
static void what_programs_count_is_summed_up(void **state)
{
        uint64_t before[SEAT_COUNTERS], now[SEAT_COUNTERS];
        struct tenant one, two;

        scheduler_totals(scheduler, before);
        admit(&one, "one", 0);
        admit(&two, "two", 0);
        add_relaxed(shared_word(&one.pages.slots->meter[0].waits), 3);
        add_relaxed(shared_word(&two.pages.slots->meter[0].waits), 4);
        add_relaxed(shared_word(&two.pages.slots->meter[0].waited_ns), 5);
        scheduler_totals(scheduler, now);
        assert_int_equal(now[SEAT_WAITS] - before[SEAT_WAITS], 7);
        add_relaxed(shared_word(&one.pages.slots->meter[0].waits), 1);
        leave(&one);
        store_relaxed(shared_word(&two.pages.slots->meter[0].waits), 0); /* it lies */
        scheduler_totals(scheduler, now);
        assert_int_equal(now[SEAT_WAITS] - before[SEAT_WAITS], 8);
        assert_int_equal(now[SEAT_WAITED_NS] - before[SEAT_WAITED_NS], 5);
        leave(&two);
}

/* Two sessions that want the same GPU, and what the thread has of them: here nobody looks but the
 * test, at the times that it says. */
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
                admit(tenants[i], i ? "two" : "one", 0);
                scheduler_drop(scheduler, tenants[i]->session.id);
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
        leave(&pair->one);
        leave(&pair->two);
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
        struct page_meter *meter;
        uint64_t done_ns;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        meter = &pair.one.pages.slots->meter[0];
        assert_int_equal(mode_of(&pair.one), PAGE_MODE_OPEN);
        pair.members->sched.member[1].wake_ns = 80000;
        pair.now_ns = (pair.now_ns + MS) / 1000 * 1000;
        done_ns = pair.now_ns + 10 * MS;
        store_release(shared_word(&meter->turn),
                      PAGE_TURN_TAKEN | done_ns / 1000 << PAGE_TURN_TIME_SHIFT);
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
        struct page_meter *meter;
        uint64_t done_ns;

        pair_up(&pair, SCHED_CLASS_NORMAL);
        seated = pair.members->seated;
        meter = &pair.one.pages.slots->meter[0];
        assert_true(members_may_ring(pair.members, &seated[0]));
        assert_false(members_may_ring(pair.members, &seated[1]));
        pair.now_ns += 4 * MS; /* the lease is over */
        done_ns = (pair.now_ns + 2 * MS) / 1000 * 1000;
        store_release(shared_word(&meter->turn),
                      PAGE_TURN_TAKEN | done_ns / 1000 << PAGE_TURN_TIME_SHIFT);
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
        store_release(shared_word(&meter->turn),
                      PAGE_TURN_TAKEN | (done_ns + 9 * MS) / 1000 << PAGE_TURN_TIME_SHIFT);
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

/* -- Set up ----------------------------------------------------------------------------------- */

static int set_up(void **state)
{
        snprintf(store.path, sizeof(store.path), "/dev/shm/aliquot-test-scheduler-%d", getpid());
        return mkdir(store.path, 0700) < 0 || folder_prepare(&store, NULL) < 0 ||
               scheduler_start(&scheduler, &store, true, NULL) < 0;
}

static int tear_down(void **state)
{
        char command[STORE_PATH_BYTES + 16];

        scheduler_stop(scheduler);
        snprintf(command, sizeof(command), "rm -rf %s", store.path);
        return system(command);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(alone_is_free_and_not_watched),
                cmocka_unit_test(a_cap_is_watched_also_alone),
                cmocka_unit_test(two_take_turns),
                cmocka_unit_test(a_holder_that_never_lets_go_is_passed_over),
                cmocka_unit_test(a_session_that_spoils_its_pages_harms_itself),
                cmocka_unit_test(terms_change_live),
                cmocka_unit_test(who_is_not_believed_has_leases_and_pays),
                cmocka_unit_test(what_programs_count_is_summed_up),
                cmocka_unit_test(who_is_let_in_while_we_look_has_time_to_begin),
                cmocka_unit_test(a_want_that_was_answered_is_none),
                cmocka_unit_test(who_says_when_it_will_be_done_is_followed_in_time),
                cmocka_unit_test(sessions_that_say_the_same_gang_have_turns_together),
                cmocka_unit_test(no_two_gangs_have_one_number),
                cmocka_unit_test(who_said_when_it_will_be_done_need_not_say_it_again),
                cmocka_unit_test(who_opens_beside_others_is_told_until_when_they_were_there),
                cmocka_unit_test(who_wakes_up_late_goes_to_sleep_for_less),
                cmocka_unit_test(the_time_that_it_was_away_is_nobodys),
        };

        return cmocka_run_group_tests_name("scheduler", tests, set_up, tear_down);
}
