/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who processes are, read by children of the daemon: nobody who keeps one waiting keeps the daemon,
 * or other users' readers, from their work.
 */
#include "daemon/processes/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HANG_SECONDS 60
#define LONG_NS UINT64_C(30000000000)
#define SHORT_NS UINT64_C(50000000)
/* Processes of the stories: a number, and whose it is. */
#define OTHER_USER 4000
#define PID_OF(uid, number) ((uid)*1000 + (number))

/* What the children do and saw, in memory that they share with us. */
struct seen {
        _Atomic uint32_t still;   /* the pid that keeps its reader waiting */
        _Atomic uint32_t endless; /* that one's mappings are never all read */
        _Atomic uint32_t gone;
        _Atomic uint32_t all_still, all_slow; /* of all users */
        _Atomic uint32_t reads, has_our_file, reader;
};

static struct seen *seen;
static struct readers *readers;
static int our_file;

bool identity_user(uint32_t pid, uint32_t *ret)
{
        *ret = pid / 1000;
        return true;
}

bool identity_begin(uint32_t pid, struct identity *ret, FILE **maps)
{
        add_relaxed(&seen->reads, 1);
        store_relaxed(&seen->has_our_file, fcntl(our_file, F_GETFD) >= 0);
        store_relaxed(&seen->reader, (uint32_t)getpid());
        while (load_acquire(&seen->still) == pid)
                pause();
        while (load_acquire(&seen->all_still))
                pause();
        if (load_relaxed(&seen->gone) == pid)
                return false;
        *ret = (struct identity){ .pid = pid, .uid = pid / 1000, .is_partial = true };
        *maps = fopen("/dev/null", "re");
        return true;
}

bool identity_go_on(struct identity *identity, FILE *maps, const struct identity_sessions *sessions,
                    uint64_t until_ns)
{
        (void)maps;
        (void)until_ns;
        identity->rank = sessions->count ? IDENTITY_OF_ANOTHERS : IDENTITY_OF_NONE;
        if (load_relaxed(&seen->all_slow))
                nanosleep(&(struct timespec){ .tv_nsec = SHORT_NS }, NULL);
        identity->is_partial =
                load_relaxed(&seen->endless) == identity->pid || load_relaxed(&seen->all_slow);
        return !identity->is_partial;
}

static int setup(void **state)
{
        alarm(HANG_SECONDS);
        seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        our_file = open("/dev/null", O_RDWR | O_CLOEXEC);
        readers = readers_new();
        return seen == MAP_FAILED || our_file < 0 || !readers;
}

static int teardown(void **state)
{
        readers_free(readers);
        close(our_file);
        return munmap(seen, sizeof(*seen));
}

static enum readers_word word_of(int ticket)
{
        struct identity who;

        return readers_answer(readers, ticket, &who);
}

/* -- Stories ----------------------------------------------------------------------------------- */

static void a_process_is_read_by_another_one(void **state)
{
        int ticket = readers_ask(readers, PID_OF(1, 1));
        struct identity who;

        assert_true(ticket >= 0);
        assert_int_equal(word_of(ticket), READERS_SILENT);
        readers_tend(readers, LONG_NS);
        assert_int_equal(readers_answer(readers, ticket, &who), READERS_WHOLE);
        assert_int_equal(who.pid, PID_OF(1, 1));
        assert_int_equal(who.rank, IDENTITY_OF_NONE);
        assert_int_not_equal(load_relaxed(&seen->reader), getpid());
        assert_false(load_relaxed(&seen->has_our_file));
}

/* Also a child that was there before. */
static void who_reads_knows_the_sessions_that_were_told_last(void **state)
{
        static const struct identity_sessions one = { .count = 1 }, none;
        struct identity who;
        int second;

        readers_know(readers, &none);
        store_relaxed(&seen->all_slow, 1);
        assert_true(readers_ask(readers, PID_OF(1, 1)) >= 0);
        readers_tend(readers, SHORT_NS);
        readers_know(readers, &one);
        second = readers_ask(readers, PID_OF(1, 2));
        store_relaxed(&seen->all_slow, 0);
        readers_tend(readers, LONG_NS);
        assert_int_equal(readers_answer(readers, second, &who), READERS_WHOLE);
        assert_int_equal(who.rank, IDENTITY_OF_ANOTHERS);
}

static void who_is_gone_is_nobody(void **state)
{
        int ticket = readers_ask(readers, PID_OF(1, 1));

        store_relaxed(&seen->gone, PID_OF(1, 1));
        readers_tend(readers, LONG_NS);
        assert_int_equal(word_of(ticket), READERS_NOBODY);
}

static void who_stands_still_holds_up_nobody_elses(void **state)
{
        int still = readers_ask(readers, PID_OF(1, 1)), other;

        store_relaxed(&seen->still, PID_OF(1, 1));
        readers_tend(readers, SHORT_NS);
        other = readers_ask(readers, PID_OF(2, 1));
        readers_tend(readers, SHORT_NS);
        for (unsigned i = 0; i < 1000 && word_of(other) != READERS_WHOLE; i++)
                readers_tend(readers, SHORT_NS);
        assert_int_equal(word_of(other), READERS_WHOLE);
        assert_int_equal(word_of(still), READERS_SILENT);
}

static void others_of_the_same_user_are_read_when_it_was_ended(void **state)
{
        int still = readers_ask(readers, PID_OF(1, 1)), other = readers_ask(readers, PID_OF(1, 2));

        store_relaxed(&seen->still, PID_OF(1, 1));
        readers_tend(readers, LONG_NS);
        assert_int_equal(word_of(still), READERS_SILENT);
        assert_int_equal(word_of(other), READERS_WHOLE);
        assert_int_equal(load_relaxed(&seen->reads), 2); /* and it is left alone for a while */
}

static void one_with_mappings_without_end_is_taken_for_what_was_read(void **state)
{
        int ticket = readers_ask(readers, PID_OF(1, 1));
        struct identity who;

        store_relaxed(&seen->endless, PID_OF(1, 1));
        readers_tend(readers, LONG_NS);
        assert_int_equal(readers_answer(readers, ticket, &who), READERS_WHOLE);
        assert_false(who.is_partial);
        assert_int_equal(who.rank, IDENTITY_OF_NONE);
}

static void tickets_are_used_again(void **state)
{
        for (unsigned round = 0; round < 3; round++) {
                int ticket[READERS_EACH];

                for (unsigned i = 0; i < READERS_EACH; i++) {
                        ticket[i] = readers_ask(readers, PID_OF(1, i % 999));
                        assert_true(ticket[i] >= 0);
                }
                assert_int_equal(readers_ask(readers, PID_OF(1, 0)), -EAGAIN);
                readers_tend(readers, LONG_NS);
                for (unsigned i = 0; i < READERS_EACH; i++) {
                        assert_int_equal(word_of(ticket[i]), READERS_WHOLE);
                        readers_drop(readers, ticket[i]);
                }
        }
}

/* What is dropped while it is read is another's only when its reader has let go of it. */
static void a_ticket_can_be_dropped_at_any_time(void **state)
{
        int still = readers_ask(readers, PID_OF(1, 1)), next;

        store_relaxed(&seen->still, PID_OF(1, 1));
        readers_tend(readers, SHORT_NS);
        readers_drop(readers, still);
        next = readers_ask(readers, PID_OF(1, 2));
        assert_int_not_equal(next, still);
        readers_tend(readers, LONG_NS);
        assert_int_equal(word_of(next), READERS_WHOLE);
        assert_int_equal(readers_ask(readers, PID_OF(1, 3)), still);
}

static void users_without_number_are_served(void **state)
{
        for (unsigned uid = 1; uid < 2 * READERS_USERS; uid++) {
                int ticket = readers_ask(readers, PID_OF(uid, 1));

                assert_true(ticket >= 0);
                while (word_of(ticket) != READERS_WHOLE)
                        readers_tend(readers, LONG_NS);
                readers_drop(readers, ticket);
                readers_tend(readers, SHORT_NS);
        }
}

/* Users who hold up their readers, in all places. */
static void fill_places(int ticket[READERS_USERS])
{
        for (unsigned i = 0; i < READERS_USERS; i++) {
                ticket[i] = readers_ask(readers, PID_OF(i + 1, 1));
                assert_true(ticket[i] >= 0);
        }
}

static void tend_until_whole(int ticket)
{
        for (unsigned i = 0; i < 1000 && word_of(ticket) != READERS_WHOLE; i++)
                readers_tend(readers, SHORT_NS);
        assert_int_equal(word_of(ticket), READERS_WHOLE);
}

/* For 10 s nothing is read of them, which is another user's time. */
static void who_is_left_alone_gives_its_place_back_while_another_waits(void **state)
{
        int still[READERS_USERS], other;
        unsigned lost = 0;

        store_relaxed(&seen->all_still, 1);
        fill_places(still);
        assert_int_equal(readers_ask(readers, PID_OF(OTHER_USER, 1)), -EAGAIN);
        readers_tend(readers, LONG_NS); /* until all are left alone */
        store_relaxed(&seen->all_still, 0);
        other = readers_ask(readers, PID_OF(OTHER_USER, 1));
        assert_true(other >= 0);
        tend_until_whole(other);
        assert_int_equal(word_of(other), READERS_WHOLE);
        for (unsigned i = 0; i < READERS_USERS; i++) {
                lost += word_of(still[i]) == READERS_LOST;
                readers_drop(readers, still[i]);
        }
        assert_int_equal(lost, 1);
        assert_int_equal(word_of(other), READERS_WHOLE); /* a lost ticket drops nobody else's */
}

/* They get on, and have ever more to read. */
static void who_is_read_for_long_makes_room_after_its_turn(void **state)
{
        const uint64_t end_ns = clock_machine_ns() + 2 * READERS_TURN_NS;
        int slow[READERS_USERS], other = -1;

        store_relaxed(&seen->all_slow, 1);
        fill_places(slow);
        while (other < 0 && clock_machine_ns() < end_ns) {
                readers_tend(readers, SHORT_NS);
                other = readers_ask(readers, PID_OF(OTHER_USER, 1));
        }
        assert_true(other >= 0);
        store_relaxed(&seen->all_slow, 0);
        tend_until_whole(other);
}

#define readers_story(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                readers_story(a_process_is_read_by_another_one),
                readers_story(who_reads_knows_the_sessions_that_were_told_last),
                readers_story(who_is_gone_is_nobody),
                readers_story(who_stands_still_holds_up_nobody_elses),
                readers_story(others_of_the_same_user_are_read_when_it_was_ended),
                readers_story(one_with_mappings_without_end_is_taken_for_what_was_read),
                readers_story(tickets_are_used_again),
                readers_story(a_ticket_can_be_dropped_at_any_time),
                readers_story(users_without_number_are_served),
                readers_story(who_is_left_alone_gives_its_place_back_while_another_waits),
                readers_story(who_is_read_for_long_makes_room_after_its_turn),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
