/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget for work that tenants lengthen: its sum is bounded however many ask and however short
 * each piece is, and short work of others goes on. Time is the test's.
 */
#include "daemon/base/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MOST UINT64_C(50000000)
#define MILLI UINT64_C(1000000)
#define SESSIONS_EACH 500u
#define SESSIONS_MANY 4000u

static struct budget budget;
static uint64_t now_ns;

static int begin(void **state)
{
        memset(&budget, 0, sizeof(budget));
        budget.max_ns = MOST;
        now_ns = 100 * SECOND;
        return 0;
}

/* Sessions of one number each; each owner has SESSIONS_EACH of them. */
static struct budget_work work_of(unsigned session)
{
        static uint8_t id[16];

        id[0] = (uint8_t)session;
        id[1] = (uint8_t)(session >> 8);
        return (struct budget_work){ id, 1000 + session / SESSIONS_EACH };
}

/* Work that takes what it may, and at least this much. Returns what it took. */
static uint64_t work(unsigned session, uint64_t min_ns)
{
        const struct budget_work work = work_of(session);
        uint64_t max_ns = budget_begin(&budget, &work, now_ns);
        uint64_t used_ns = max_ns > min_ns ? max_ns : min_ns;

        if (!max_ns)
                return 0;
        now_ns += used_ns;
        budget_end(&budget, &work, now_ns, used_ns);
        return used_ns;
}

/* Work that takes this long. Returns whether it was granted. */
static bool short_work(unsigned session, uint64_t used_ns)
{
        const struct budget_work work = work_of(session);

        if (!budget_begin(&budget, &work, now_ns))
                return false;
        now_ns += used_ns;
        budget_end(&budget, &work, now_ns, used_ns);
        return true;
}

/* Of as many sessions as there are, each asked once in turn, at one instant. */
static uint64_t round_of(unsigned sessions, uint64_t each_ns)
{
        uint64_t sum_ns = 0;

        for (unsigned i = 0; i < sessions; i++)
                sum_ns += short_work(i, each_ns) ? each_ns : 0;
        return sum_ns;
}

static void use_up(unsigned session)
{
        for (unsigned i = 0; work(session, 0); i++)
                assert_true(i < 1000);
}

/* -- Stories ----------------------------------------------------------------------------------- */

static void however_many_ask_the_sum_is_bounded(void **state)
{
        const unsigned owners = SESSIONS_MANY / SESSIONS_EACH;
        uint64_t used_ns = 0, began_ns = now_ns;

        while (now_ns - began_ns < 100 * SECOND) {
                used_ns += round_of(SESSIONS_MANY, MILLI);
                now_ns += SECOND / 100;
        }
        assert_true(used_ns >= MOST);
        assert_true(used_ns <= (now_ns - began_ns) / BUDGET_SHARE + BUDGET_BURST_NS + MILLI +
                                       owners * ((now_ns - began_ns) / BUDGET_OWN_SHARE +
                                                 BUDGET_OWN_BURST_NS + MILLI));
}

/* A list of all sessions of one owner: each look is short, and there are many. */
static void many_short_pieces_of_one_owner_are_bounded_together(void **state)
{
        uint64_t sum_ns = 0;

        for (unsigned i = 0; i < SESSIONS_EACH; i++)
                sum_ns += short_work(i, 2 * MILLI) ? 2 * MILLI : 0;
        assert_in_range(sum_ns, MOST, BUDGET_BURST_NS + BUDGET_OWN_BURST_NS + 2 * MILLI);
}

static void an_owner_with_short_work_is_served_when_the_budget_is_out(void **state)
{
        use_up(1);
        for (unsigned i = 0; i < 1000; i++) {
                use_up(1);
                assert_true(short_work(SESSIONS_EACH, MILLI / 100));
                now_ns += SECOND / 100;
        }
}

static void what_is_an_owners_own_is_no_more_for_many_sessions(void **state)
{
        use_up(SESSIONS_MANY);
        assert_in_range(round_of(SESSIONS_EACH, MILLI / 10), BUDGET_OWN_BURST_NS / 2,
                        BUDGET_OWN_BURST_NS + MILLI);
}

/* One step cannot be cut short: a walk of the kernel over all locks on a file. */
static void what_took_too_long_is_owed(void **state)
{
        use_up(SESSIONS_MANY);
        assert_true(short_work(1, SECOND / 2));
        for (unsigned i = 0; i < 100; i++) {
                use_up(SESSIONS_MANY);
                assert_false(short_work(1, SECOND / 2));
                now_ns += SECOND / 10;
        }
}

/* As with a signal that each second is tried again, of the sessions always in the same order. */
static void who_waits_has_its_turn(void **state)
{
        unsigned reached = 0;

        for (unsigned i = 0; i < 20; i++)
                use_up(i);
        for (unsigned second = 0; second < 200; second++) {
                for (unsigned i = 0; i < 20; i++)
                        reached |= work(i, 0) == MOST ? 1u << i : 0;
                now_ns += SECOND;
        }
        assert_int_equal(reached, (1u << 20) - 1);
}

static void who_waits_no_longer_keeps_nobody_waiting(void **state)
{
        use_up(1);
        use_up(2);
        now_ns += SECOND * 20;
        assert_int_equal(work(2, 0), MOST);
}

static void after_a_rest_there_is_one_burst_and_no_more(void **state)
{
        uint64_t used_ns = 0, took_ns;

        now_ns += 1000 * SECOND;
        for (unsigned i = 0; i < 1000 && (took_ns = work(1, 0)); i++)
                used_ns += took_ns;
        assert_in_range(used_ns, BUDGET_BURST_NS, BUDGET_BURST_NS + MOST);
}

/* A listing, and then the names of those listed: both in the time of one. */
static void two_parts_of_one_piece_have_the_time_of_one(void **state)
{
        const struct budget_work work = work_of(1);

        assert_int_equal(budget_begin(&budget, &work, now_ns), MOST);
        budget_end(&budget, &work, now_ns, 30 * MILLI);
        assert_int_equal(budget_left(&budget), MOST - 30 * MILLI);
        budget_end(&budget, &work, now_ns, 25 * MILLI); /* the last step was longer */
        assert_int_equal(budget_left(&budget), 0);
        assert_int_equal(budget.full_ns - now_ns,
                         BUDGET_SHARE * (55 * MILLI - BUDGET_OWN_BURST_NS));
}

#define SAME 40u

/* Users whose accounts begin at one place, as anybody with subordinate user ids can find some. */
static void same_places(uint32_t uid[SAME])
{
        static struct accounts accounts;
        unsigned count = 0;

        for (uint32_t i = 1000; count < SAME; i++) {
                struct owner_account *account = accounts_find(&accounts, i, 0);

                if (account == &accounts.place[7])
                        uid[count++] = i;
                memset(account, 0, sizeof(*account));
        }
}

static void charge(struct accounts *accounts, uint32_t uid)
{
        const struct account_terms terms = { 500, SECOND };

        accounts_charge(accounts_find(accounts, uid, now_ns), &terms, now_ns, SECOND);
}

static void nobody_pays_what_others_owe(void **state)
{
        static struct accounts accounts;
        uint32_t uid[SAME];

        memset(&accounts, 0, sizeof(accounts));
        same_places(uid);
        for (unsigned i = 0; i < SAME; i++)
                charge(&accounts, uid[i]);
        assert_true(accounts_find(&accounts, 1, now_ns)->full_ns <= now_ns);
        for (unsigned i = 0; i < SAME; i++) {
                struct owner_account *account = accounts_find(&accounts, uid[i], now_ns);

                assert_int_equal(account->payer, uid[i]);
                assert_int_equal(account->full_ns, now_ns + 500 * SECOND);
        }
}

static void where_all_owe_the_others_share_an_account_that_is_nobodys(void **state)
{
        static struct accounts accounts;
        struct owner_account *late;

        memset(&accounts, 0, sizeof(accounts));
        for (uint32_t i = 0; i < ACCOUNTS_PLACES; i++)
                charge(&accounts, i);
        late = accounts_find(&accounts, ACCOUNTS_PLACES, now_ns);
        charge(&accounts, ACCOUNTS_PLACES);
        assert_ptr_equal(accounts_find(&accounts, ACCOUNTS_PLACES + 1, now_ns), late);
        for (uint32_t i = 0; i < ACCOUNTS_PLACES; i++) {
                struct owner_account *account = accounts_find(&accounts, i, now_ns);

                assert_ptr_not_equal(account, late);
                assert_int_equal(account->full_ns, now_ns + 500 * SECOND);
        }
        /* As soon as one has paid back, there is a place. */
        now_ns += 500 * SECOND;
        assert_ptr_not_equal(accounts_find(&accounts, ACCOUNTS_PLACES, now_ns), late);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(however_many_ask_the_sum_is_bounded, begin),
                cmocka_unit_test_setup(many_short_pieces_of_one_owner_are_bounded_together, begin),
                cmocka_unit_test_setup(an_owner_with_short_work_is_served_when_the_budget_is_out,
                                       begin),
                cmocka_unit_test_setup(what_is_an_owners_own_is_no_more_for_many_sessions, begin),
                cmocka_unit_test_setup(what_took_too_long_is_owed, begin),
                cmocka_unit_test_setup(who_waits_has_its_turn, begin),
                cmocka_unit_test_setup(who_waits_no_longer_keeps_nobody_waiting, begin),
                cmocka_unit_test_setup(after_a_rest_there_is_one_burst_and_no_more, begin),
                cmocka_unit_test_setup(two_parts_of_one_piece_have_the_time_of_one, begin),
                cmocka_unit_test_setup(nobody_pays_what_others_owe, begin),
                cmocka_unit_test_setup(where_all_owe_the_others_share_an_account_that_is_nobodys,
                                       begin),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
