/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler's thread in front of real pages; the tests play the sessions' programs. What it
 * decides is core/sched's, and tested there: here, that it hears what sessions say, that they
 * hear what it says, and that a session's pages can hold anything.
 */
#include "daemon/schedule/scheduler.h"

#include <fcntl.h>
#include <time.h>

#include "daemon/schedule/seat.h"
#include "tenant_stage.h"

#define PATIENCE_NS (20000 * MS) /* a bound on hangs: things happen within milliseconds */

static struct scheduler *scheduler;

static void admit(struct tenant *tenant, const char *name, uint32_t cap_milli_percent)
{
        struct error err;

        tenant_begin(tenant, name, cap_milli_percent);
        if (scheduler_put(scheduler, &tenant->session, SESSIONS_MAX, &err) < 0)
                fail_msg("%s: %s", name, err.text);
}

static bool is_watched(const struct tenant *tenant)
{
        return load_acquire(shared_word(&tenant->pages.limits->scheduler_at_ns)) != 0;
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
                fly(tenant, now_ns);
                add_relaxed(shared_word(&meter->busy_ns), 10000);
                life->turns += !life->is_running;
                life->is_running = true;
                life->looks++;
        } else if (life->is_running) {
                land(tenant);
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
        tenant_end(tenant);
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
        fly(&one, UINT64_MAX);
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

/* Also one that is asked for nothing; what is written there later is not heard. */
static void a_session_that_spoils_its_pages_is_distrusted(void **state)
{
        struct tenant one, two;
        struct scheduler_view view;
        struct scheduler_claim claim;

        admit(&one, "spoilt", 50000);
        want(&one);
        wait_until(is_watched(&one));
        store_relaxed(shared_word(&one.pages.slots->magic), 0);
        ring(&one);
        wait_until(!is_watched(&one));
        assert_false(scheduler_claim(scheduler, one.session.id, 0, &claim));
        store_relaxed(shared_word(&one.pages.slots->magic), PAGE_SLOTS_MAGIC);
        want(&one);
        admit(&two, "two", 50000); /* polled now, as its owner is the same */
        want(&two);
        wait_until(is_watched(&two));
        assert_false(scheduler_read(scheduler, one.session.id, 0, &view));
        leave(&two);
        leave(&one);
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
        assert_int_equal(scheduler_put(scheduler, &one.session, 0, NULL), 0);
        assert_int_equal(rename(away, path), 0);
        wait_until(is_watched(&one));
        leave(&one);
}

static void what_a_session_says_of_its_time_can_be_read(void **state)
{
        struct scheduler_claim claim;
        struct tenant one;

        admit(&one, "one", 50000);
        store_relaxed(shared_word(&one.pages.slots->meter[0].busy_ns), 7);
        store_relaxed(shared_word(&one.pages.slots->meter[0].bucket_ns), (uint64_t)-9);
        want(&one);
        wait_until(mode_of(&one) == PAGE_MODE_FREE && is_watched(&one));
        assert_true(scheduler_claim(scheduler, one.session.id, 0, &claim));
        assert_true(claim.is_watched && claim.is_free);
        assert_int_equal(claim.busy_ns, 7);
        assert_int_equal(claim.owed_ns, 9);
        assert_false(scheduler_claim(scheduler, one.session.id, 1, &claim)); /* has none */
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
        wait_until((scheduler_totals(scheduler, now), now[SEAT_WAITS] - before[SEAT_WAITS] == 8));
        assert_int_equal(now[SEAT_WAITED_NS] - before[SEAT_WAITED_NS], 5);
        leave(&two);
}

/* -- Set up ----------------------------------------------------------------------------------- */

static int set_up(void **state)
{
        return make_folder("scheduler") || scheduler_start(&scheduler, &store, true, NULL) < 0;
}

static int tear_down(void **state)
{
        scheduler_stop(scheduler);
        return drop_folder(state);
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
                cmocka_unit_test(what_a_session_says_of_its_time_can_be_read),
                cmocka_unit_test(what_programs_count_is_summed_up),
                cmocka_unit_test(a_session_that_spoils_its_pages_is_distrusted),
        };

        return cmocka_run_group_tests_name("scheduler", tests, set_up, tear_down);
}
