/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session is billed the union of its processes' flights, whoever looks and however often; who
 * died or was stopped in flight bills nothing for ever, and who goes on what was missed meanwhile.
 */
#include "shim/time/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define START (UINT64_C(1000) * MS)
#define PROCESSES 3

static struct limits_page limits;
static struct slots_page slots;
static struct account account[PROCESSES];
static uint64_t begin_ns[PROCESSES];

static int from_nothing(void **state)
{
        limits = (struct limits_page){ .owner = PAGE_OWNER_DAEMON };
        slots.meter[0] = (struct page_meter){ 0 };
        slots.slots_high = PROCESSES;
        for (unsigned i = 0; i < PROCESSES; i++) {
                slots.row[i][0] = (struct page_row){ 0 };
                account[i] = (struct account){ .limits = &limits,
                                               .device = &limits.device[0],
                                               .slots = &slots,
                                               .meter = &slots.meter[0],
                                               .row = &slots.row[i][0] };
        }
        return 0;
}

static void begin(unsigned process, uint64_t at_ns)
{
        begin_ns[process] = START + at_ns;
        account_begin(&account[process], START + at_ns);
}

static void seen(unsigned process, uint64_t at_ns)
{
        account_settle(&account[process], begin_ns[process], START + at_ns);
}

static void end(unsigned process, uint64_t at_ns, int64_t rest_ns, uint32_t turn)
{
        seen(process, at_ns);
        account_end(&account[process], rest_ns, turn, START + at_ns);
}

static uint64_t billed(void)
{
        return slots.meter[0].busy_ns;
}

static void a_flight_is_billed_once_however_often_it_is_looked_at(void **state)
{
        begin(0, 0);
        for (uint64_t ns = 1; ns < 1000; ns++)
                seen(0, ns * US);
        end(0, 1 * MS, 0, 2);
        assert_int_equal(billed(), 1 * MS);
        begin(0, 5 * MS);
        end(0, 6 * MS, 0, 2);
        assert_int_equal(billed(), 2 * MS);
}

static void two_at_once_are_billed_once(void **state)
{
        begin(0, 0);
        begin(1, 2 * MS);
        seen(0, 3 * MS);
        end(1, 4 * MS, 0, 2);
        assert_int_equal(billed(), 4 * MS);
        end(0, 10 * MS, 0, 2);
        assert_int_equal(billed(), 10 * MS);
}

static void what_looks_cannot_see_is_billed_by_the_last_one_alone(void **state)
{
        begin(0, 0);
        begin(1, 1 * MS);
        end(1, 2 * MS, 100 * (int64_t)US, 2);
        assert_int_equal(billed(), 2 * MS);
        end(0, 3 * MS, -(int64_t)(200 * US), 2);
        assert_int_equal(billed(), 3 * MS - 200 * US);
}

/* A page that was scribbled on, or the clock of a machine before it was started again. */
static void a_time_ahead_of_the_clock_settles_nothing(void **state)
{
        slots.meter[0].settled_until_ns = UINT64_MAX / 2;
        begin(0, 0);
        seen(0, 1 * MS);
        end(0, 2 * MS, 0, 2);
        assert_int_equal(billed(), 2 * MS);
}

static void who_died_in_flight_is_billed_for_no_longer(void **state)
{
        begin(0, 0);
        seen(0, 1 * MS);
        begin(1, 1 * MS);
        end(1, 2 * MS, 0, 2);
        begin(1, 500 * MS);
        end(1, 501 * MS, 0, 2);
        assert_int_equal(billed(), 3 * MS);
}

/* Whatever the others do meanwhile: else a session that stops its own long kernels' process, and
 * runs short ones in another, pays for those alone. */
static void who_was_stopped_in_flight_is_billed_for_it_when_it_goes_on(void **state)
{
        begin(0, 0);
        seen(0, 1 * MS);
        begin(1, 100 * MS);
        end(1, 102 * MS, 0, 2);
        begin(1, 198 * MS);
        seen(1, 199 * MS);
        assert_int_equal(billed(), 4 * MS);
        seen(0, 200 * MS);
        assert_int_equal(billed(), 200 * MS);
        end(1, 201 * MS, 0, 2);
        end(0, 202 * MS, 0, 2);
        assert_int_equal(billed(), 202 * MS);
}

static void two_who_were_stopped_are_billed_once(void **state)
{
        begin(0, 0);
        begin(1, 1 * MS);
        end(0, 200 * MS, 0, 2);
        assert_int_equal(billed(), 200 * MS);
        end(1, 201 * MS, 0, 2);
        assert_int_equal(billed(), 201 * MS);
}

/* What the page says it was billed by then; and no more than 10 s at once. */
static void who_was_stopped_is_billed_no_more_than_that(void **state)
{
        const uint64_t said[] = { 0, 5 * MS, UINT64_MAX / 2, UINT64_MAX };

        for (unsigned i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
                slots.meter[0].busy_ns = 10 * MS;
                begin(0, i * 1000 * MS);
                slots.meter[0].busy_ns = said[i];
                end(0, (i * 1000 + 500) * MS, 0, 2);
                assert_in_range(billed() - said[i], 0, 500 * MS);
        }
        slots.meter[0].busy_ns = 0;
        begin(0, 10000 * MS);
        end(0, 90000 * MS, 0, 2);
        assert_int_equal(billed(), 10000 * MS);
}

static void who_is_the_last_says_that_the_session_is_drained(void **state)
{
        begin(0, 0);
        begin(1, 0);
        assert_int_equal(slots.meter[0].drained_turn & 1, 1);
        end(0, 1 * MS, 0, 8);
        assert_int_equal(slots.meter[0].drained_turn & 1, 1);
        end(1, 2 * MS, 0, 8);
        assert_int_equal(slots.meter[0].drained_turn, 8);
}

/* Each process that is in flight is looked at each 100 us, but while it is stopped: one in turn,
 * for so long, until the others have gone on for a while. */
static void come_to_their_union(uint64_t stop_ns)
{
        uint64_t until_ns[PROCESSES] = { 0 }, union_ns = 0;

        srand(7);
        for (uint64_t now_ns = 0; now_ns < 2000 * MS; now_ns += 100 * US) {
                uint64_t part =
                        stop_ns && now_ns < 1800 * MS ? now_ns / stop_ns % (2 * PROCESSES) : 1;
                uint64_t stopped = part % 2 ? PROCESSES : part / 2;
                bool is_any = false;

                for (unsigned i = 0; i < PROCESSES; i++) {
                        if (i == stopped) {
                                until_ns[i] += until_ns[i] ? 100 * US : 0;
                        } else if (until_ns[i] && until_ns[i] <= now_ns) {
                                end(i, now_ns, 0, 2);
                                until_ns[i] = 0;
                        } else if (until_ns[i]) {
                                seen(i, now_ns);
                        } else if (rand() % 20 == 0) {
                                begin(i, now_ns);
                                until_ns[i] = now_ns + (1 + (uint64_t)rand() % 40) * 100 * US;
                        }
                }
                for (unsigned i = 0; i < PROCESSES; i++)
                        is_any |= until_ns[i] > now_ns;
                union_ns += is_any ? 100 * US : 0;
        }
        assert_in_range(billed(), union_ns * 995 / 1000, union_ns * 1005 / 1000);
}

static void random_flights_come_to_their_union(void **state)
{
        come_to_their_union(0);
}

static void so_they_do_when_processes_are_stopped(void **state)
{
        for (uint64_t stop_ms = 5; stop_ms < 100; stop_ms += 7) {
                from_nothing(state);
                come_to_their_union(stop_ms * MS);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(a_flight_is_billed_once_however_often_it_is_looked_at,
                                       from_nothing),
                cmocka_unit_test_setup(two_at_once_are_billed_once, from_nothing),
                cmocka_unit_test_setup(what_looks_cannot_see_is_billed_by_the_last_one_alone,
                                       from_nothing),
                cmocka_unit_test_setup(a_time_ahead_of_the_clock_settles_nothing, from_nothing),
                cmocka_unit_test_setup(who_died_in_flight_is_billed_for_no_longer, from_nothing),
                cmocka_unit_test_setup(who_was_stopped_in_flight_is_billed_for_it_when_it_goes_on,
                                       from_nothing),
                cmocka_unit_test_setup(two_who_were_stopped_are_billed_once, from_nothing),
                cmocka_unit_test_setup(who_was_stopped_is_billed_no_more_than_that, from_nothing),
                cmocka_unit_test_setup(who_is_the_last_says_that_the_session_is_drained,
                                       from_nothing),
                cmocka_unit_test_setup(random_flights_come_to_their_union, from_nothing),
                cmocka_unit_test_setup(so_they_do_when_processes_are_stopped, from_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
