/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is found to hold memory that no ledger explains, after how many looks, and what comes of it.
 */
#include "core/watch.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define SECOND UINT64_C(1000000000)
#define LOOKS_MAX 100

static struct watch watch;
static struct watch_policy policy;
static uint64_t now_ns;
static struct watch_action action[16];
static unsigned actions;

static int begin_anew(void **state)
{
        watch = (struct watch){ 0 };
        policy = (struct watch_policy){ .strangers = WATCH_REPORT,
                                        .forged = WATCH_REPORT,
                                        .tolerance_bytes = 16 * MIB,
                                        .grace_ns = 2 * SECOND };
        now_ns = SECOND;
        return 0;
}

/* One look that finds these, and what is to be done about them. */
static void look(const struct watch_sight *sights, unsigned count, bool is_whole)
{
        watch_begin(&watch);
        for (unsigned i = 0; i < count; i++)
                watch_see(&watch, &policy, &sights[i]);
        watch_end(&watch, is_whole);
        actions = 0;
        while (actions < 16 && watch_next(&watch, &policy, now_ns, &action[actions]))
                actions++;
        assert_true(actions < 16);
        now_ns += SECOND / 10;
}

/* Looks until something is to be done; how many that took, or LOOKS_MAX. */
static unsigned look_until_done(struct watch_sight *sight, bool is_moving)
{
        for (unsigned i = 1; i < LOOKS_MAX; i++) {
                sight->ledger_mark += is_moving;
                look(sight, 1, true);
                if (actions)
                        return i;
        }
        return LOOKS_MAX;
}

static struct watch_sight stranger(uint32_t pid)
{
        return (struct watch_sight){
                .charge = WATCH_STRANGER, .pid = pid, .start_ticks = 7, .held_bytes = 100 * MIB
        };
}

static struct watch_sight tenant(uint64_t held_mib, uint64_t ledger_mib)
{
        return (struct watch_sight){ .charge = WATCH_PROCESS,
                                     .pid = 50,
                                     .start_ticks = 7,
                                     .session = { 1 },
                                     .held_bytes = held_mib * MIB,
                                     .ledger_bytes = ledger_mib * MIB,
                                     .ledger_mark = 1 };
}

static void a_stranger_is_told_of_once(void **state)
{
        struct watch_sight one = stranger(50);

        assert_int_equal(look_until_done(&one, false), 2);
        assert_int_equal(actions, 1);
        assert_int_equal(action[0].type, WATCH_TELL);
        assert_int_equal(action[0].answer, WATCH_REPORT);
        assert_int_equal(action[0].sight.pid, 50);
        assert_int_equal(look_until_done(&one, false), LOOKS_MAX);
        assert_false(watch_is_close(&watch));
        /* The same pid, another process. */
        one.start_ticks++;
        assert_int_equal(look_until_done(&one, false), 2);
}

static void who_is_gone_at_the_second_look_was_nobody(void **state)
{
        struct watch_sight one = stranger(50);

        look(&one, 1, true);
        assert_true(watch_is_close(&watch));
        look(NULL, 0, true);
        assert_false(watch_is_close(&watch));
        look(&one, 1, true);
        assert_int_equal(actions, 0);
}

static void only_in_a_managed_cgroup_is_a_stranger_stopped(void **state)
{
        struct watch_sight one = stranger(50), other = stranger(51);

        policy.strangers = WATCH_KILL;
        other.is_managed = true;
        assert_int_equal(look_until_done(&one, false), 2);
        assert_int_equal(action[0].answer, WATCH_REPORT);
        assert_int_equal(look_until_done(&one, false), LOOKS_MAX);
        assert_int_equal(look_until_done(&other, false), 2);
        assert_int_equal(actions, 2);
        assert_int_equal(action[0].type, WATCH_TELL);
        assert_int_equal(action[0].answer, WATCH_KILL);
        assert_int_equal(action[1].type, WATCH_SIGKILL);
        assert_int_equal(action[1].sight.pid, 51);
        assert_int_equal(look_until_done(&other, false), LOOKS_MAX);
}

static void who_does_not_go_at_sigterm_is_killed_after_the_grace(void **state)
{
        struct watch_sight one = stranger(50);
        uint64_t asked_ns;

        policy.strangers = WATCH_TERM;
        one.is_managed = true;
        look_until_done(&one, false);
        assert_int_equal(actions, 2);
        assert_int_equal(action[1].type, WATCH_SIGTERM);
        asked_ns = now_ns - SECOND / 10;
        look_until_done(&one, false);
        assert_int_equal(actions, 1);
        assert_int_equal(action[0].type, WATCH_SIGKILL);
        assert_true(now_ns - SECOND / 10 - asked_ns >= policy.grace_ns);
        assert_int_equal(look_until_done(&one, false), LOOKS_MAX);
}

static void strangers_may_be_nobodys_business(void **state)
{
        struct watch_sight one = stranger(50);

        policy.strangers = WATCH_IGNORE;
        one.is_managed = true;
        assert_int_equal(look_until_done(&one, false), LOOKS_MAX);
        assert_false(watch_is_close(&watch));
}

static void what_the_ledger_and_the_tolerance_explain_is_no_forgery(void **state)
{
        struct watch_sight one = tenant(116, 100);

        assert_int_equal(look_until_done(&one, false), LOOKS_MAX);
        one.held_bytes++;
        assert_true(look_until_done(&one, false) < LOOKS_MAX);
        assert_int_equal(action[0].type, WATCH_TELL);
        assert_int_equal(action[0].sight.charge, WATCH_PROCESS);
}

static void what_the_driver_does_not_tell_accuses_nobody(void **state)
{
        struct watch_sight one = tenant(0, 0);

        one.held_bytes = WATCH_NONE;
        assert_int_equal(look_until_done(&one, false), LOOKS_MAX);
}

/* A ledger that stands still while the driver shows more is soon enough of a proof; one that moves
 * may only have been read at another moment, and takes more looks. */
static void a_ledger_that_moves_takes_more_looks(void **state)
{
        struct watch_sight still = tenant(256, 0), moving = tenant(256, 0);

        assert_in_range(look_until_done(&still, false), 3, 6);
        begin_anew(NULL);
        assert_in_range(look_until_done(&moving, true), 15, 25);
}

/* It frees and allocates all the time: now and then a look finds the driver's bytes without the
 * ledger's, and the next one finds both. */
static void a_program_that_allocates_busily_is_never_accused(void **state)
{
        struct watch_sight one = tenant(256, 0);

        for (unsigned i = 0; i < 10000; i++) {
                one.ledger_mark++;
                one.ledger_bytes = i % 8 ? 0 : 256 * MIB;
                look(&one, 1, true);
                assert_int_equal(actions, 0);
        }
}

/* The ledger of the look before counts too: the driver may still show what was freed since. */
static void the_higher_of_two_ledgers_explains(void **state)
{
        struct watch_sight one = tenant(300, 256);

        look(&one, 1, true);
        assert_true(watch_is_close(&watch));
        one.held_bytes = 256 * MIB;
        one.ledger_bytes = 0;
        one.ledger_mark++;
        look(&one, 1, true);
        assert_false(watch_is_close(&watch));
}

static void a_clamp_is_lifted_when_all_is_explained_again(void **state)
{
        struct watch_sight one = tenant(256, 0);

        policy.forged = WATCH_CLAMP;
        look_until_done(&one, false);
        assert_int_equal(actions, 2);
        assert_int_equal(action[1].type, WATCH_SHUT);
        assert_true(watch_is_clamped(&watch, one.place, one.session));
        assert_int_equal(look_until_done(&one, false), LOOKS_MAX);
        one.ledger_bytes = 256 * MIB;
        look(&one, 1, true);
        assert_int_equal(actions, 1);
        assert_int_equal(action[0].type, WATCH_OPEN);
        assert_memory_equal(action[0].sight.session, one.session, 16);
        assert_false(watch_is_clamped(&watch, one.place, one.session));
        /* Again: clamped again, and not told of again. */
        one.ledger_bytes = 0;
        look_until_done(&one, false);
        assert_int_equal(actions, 1);
        assert_int_equal(action[0].type, WATCH_SHUT);
        look(NULL, 0, true);
        assert_int_equal(actions, 1);
        assert_int_equal(action[0].type, WATCH_OPEN);
}

static void a_clamp_is_lifted_when_the_policy_is_another(void **state)
{
        struct watch_sight one = tenant(256, 0);

        policy.forged = WATCH_CLAMP;
        look_until_done(&one, false);
        policy.forged = WATCH_REPORT;
        look(&one, 1, true);
        assert_int_equal(actions, 1);
        assert_int_equal(action[0].type, WATCH_OPEN);
}

static void who_was_not_looked_at_is_not_forgotten(void **state)
{
        struct watch_sight one = tenant(256, 0);

        policy.forged = WATCH_CLAMP;
        look_until_done(&one, false);
        look(NULL, 0, false);
        assert_int_equal(actions, 0);
        assert_true(watch_is_clamped(&watch, one.place, one.session));
}

static void a_session_answers_for_the_sum(void **state)
{
        struct watch_sight all = tenant(300, 256);

        all.charge = WATCH_SESSION;
        all.pid = 0;
        all.processes = 3; /* 48 MiB */
        assert_int_equal(look_until_done(&all, false), LOOKS_MAX);
        all.held_bytes = 305 * MIB;
        assert_true(look_until_done(&all, false) < LOOKS_MAX);
        assert_int_equal(action[0].sight.charge, WATCH_SESSION);
}

#define CROWD (2 * WATCH_CASES + 2)

/* Six looks that find them, and `other` if there is one; how many were told of. */
static unsigned see_beside(const struct watch_sight *crowd, const struct watch_sight *other)
{
        unsigned told = 0;

        for (unsigned looks = 0; looks < 6; looks++) {
                watch_begin(&watch);
                for (unsigned i = 0; i < CROWD; i++)
                        watch_see(&watch, &policy, &crowd[i]);
                if (other)
                        watch_see(&watch, &policy, other);
                watch_end(&watch, true);
                while (watch_next(&watch, &policy, now_ns, &action[0]))
                        told += action[0].type == WATCH_TELL;
        }
        return told;
}

static bool is_told_of(const struct watch_file *file, uint32_t pid)
{
        for (unsigned i = 0; i < file->entries; i++) {
                if (file->one[i].sight.pid == pid)
                        return file->one[i].is_told;
        }
        return false;
}

static unsigned see_crowd(const struct watch_sight *crowd)
{
        return see_beside(crowd, NULL);
}

static void more_strangers_than_there_is_room_for_are_told_when_there_is(void **state)
{
        static struct watch_sight crowd[CROWD];

        for (unsigned i = 0; i < CROWD; i++)
                crowd[i] = stranger(100 + i);
        assert_int_equal(see_crowd(crowd), WATCH_CASES / 2);
        assert_int_equal(watch.left_out, CROWD - WATCH_CASES / 2);
        for (unsigned i = 0; i < 3; i++)
                look(&crowd[CROWD - 1], 1, true);
        assert_int_equal(watch.left_out, 0);
        assert_int_equal(watch.strangers.entries, 1);
        assert_int_equal(watch.strangers.one[0].sight.pid, crowd[CROWD - 1].pid);
}

/* Nor do a user's own processes, in its sessions or outside them, hide one of its sessions. */
static void no_crowd_of_one_user_hides_another(void **state)
{
        static struct watch_sight crowd[CROWD];
        struct watch_sight late = stranger(7), all = tenant(500, 0);

        policy.forged = WATCH_CLAMP;
        for (unsigned i = 0; i < CROWD; i++) {
                crowd[i] = stranger(100 + i);
                crowd[i].payer = 1;
                crowd[i].charge = i % 2 ? WATCH_PROCESS : WATCH_STRANGER;
                crowd[i].session[0] = i % 2;
        }
        see_crowd(crowd);
        assert_true(watch.left_out > 0);
        assert_int_equal(watch.left_out_payer, 1);
        late.payer = 2;
        see_beside(crowd, &late);
        assert_true(is_told_of(&watch.strangers, late.pid));
        all.charge = WATCH_SESSION;
        all.pid = 0;
        all.payer = 1;
        all.place = WATCH_SESSIONS - 1;
        all.share = WATCH_SHARES - 1;
        all.session[0] = 9;
        see_beside(crowd, &all);
        assert_true(watch_is_clamped(&watch, all.place, all.session));
        assert_true(watch_knows(&watch, all.place, all.session));
}

/* Until then what its session holds together is compared as well. */
static void who_is_left_out_or_suspected_is_not_taken_for_guilty(void **state)
{
        static struct watch_sight crowd[CROWD];
        struct watch_sight one = tenant(500, 0);

        for (unsigned i = 0; i < CROWD; i++) {
                crowd[i] = tenant(500, 0);
                crowd[i].pid = 100 + i;
        }
        assert_false(watch_see(&watch, &policy, &crowd[0]));
        see_crowd(crowd);
        assert_true(watch_see(&watch, &policy, &crowd[0]));
        assert_false(watch_see(&watch, &policy, &one));
}

/* Nor is the clamp lifted between the one and the other. */
static void when_a_guilty_process_goes_its_session_answers(void **state)
{
        struct watch_sight both[2] = { tenant(500, 0), tenant(900, 0) };
        unsigned looks = 0;

        policy.forged = WATCH_CLAMP;
        both[1].charge = WATCH_SESSION;
        both[1].pid = 0;
        for (unsigned i = 0; i < 20; i++) {
                watch_begin(&watch);
                both[1].is_answered = watch_see(&watch, &policy, &both[0]);
                watch_see(&watch, &policy, &both[1]);
                watch_end(&watch, true);
                while (watch_next(&watch, &policy, now_ns, &action[0]))
                        assert_int_equal(action[0].sight.charge, WATCH_PROCESS);
        }
        assert_true(watch_is_clamped(&watch, 0, both[0].session));
        assert_false(watch_is_close(&watch));
        both[1].is_answered = false;
        do {
                look(&both[1], 1, true);
                assert_true(watch_is_clamped(&watch, 0, both[0].session));
                looks++;
        } while (!actions);
        assert_int_equal(looks, 2);
        assert_int_equal(action[0].type, WATCH_TELL);
        assert_int_equal(action[0].sight.charge, WATCH_SESSION);
        both[1].ledger_bytes = both[1].held_bytes;
        look(&both[1], 1, true);
        assert_false(watch_is_clamped(&watch, 0, both[0].session));
}

/* Its limit is its own, whatever that of the one before was. */
static void who_comes_where_a_clamped_session_was_is_not_clamped(void **state)
{
        struct watch_sight one = tenant(500, 0);

        policy.forged = WATCH_CLAMP;
        look_until_done(&one, false);
        assert_true(watch_is_clamped(&watch, one.place, one.session));
        one.session[0]++;
        assert_false(watch_is_clamped(&watch, one.place, one.session));
        one.charge = WATCH_SESSION;
        one.pid = 0;
        look(&one, 1, true);
        assert_false(watch_is_clamped(&watch, one.place, one.session));
        assert_true(watch_knows(&watch, one.place, one.session));
}

static void what_could_not_be_told_is_told_again(void **state)
{
        struct watch_sight one = stranger(50);

        look_until_done(&one, false);
        watch_untold(&watch, &one);
        assert_int_equal(look_until_done(&one, false), 1);
        assert_int_equal(action[0].type, WATCH_TELL);
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup(name, begin_anew)
        const struct CMUnitTest tests[] = {
                STORY(a_stranger_is_told_of_once),
                STORY(who_is_gone_at_the_second_look_was_nobody),
                STORY(only_in_a_managed_cgroup_is_a_stranger_stopped),
                STORY(who_does_not_go_at_sigterm_is_killed_after_the_grace),
                STORY(strangers_may_be_nobodys_business),
                STORY(what_the_ledger_and_the_tolerance_explain_is_no_forgery),
                STORY(what_the_driver_does_not_tell_accuses_nobody),
                STORY(a_ledger_that_moves_takes_more_looks),
                STORY(a_program_that_allocates_busily_is_never_accused),
                STORY(the_higher_of_two_ledgers_explains),
                STORY(a_clamp_is_lifted_when_all_is_explained_again),
                STORY(a_clamp_is_lifted_when_the_policy_is_another),
                STORY(who_was_not_looked_at_is_not_forgotten),
                STORY(a_session_answers_for_the_sum),
                STORY(more_strangers_than_there_is_room_for_are_told_when_there_is),
                STORY(no_crowd_of_one_user_hides_another),
                STORY(who_is_left_out_or_suspected_is_not_taken_for_guilty),
                STORY(when_a_guilty_process_goes_its_session_answers),
                STORY(who_comes_where_a_clamped_session_was_is_not_clamped),
                STORY(what_could_not_be_told_is_told_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
