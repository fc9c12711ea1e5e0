/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cleaning of slots: each user's is a process of its own, and one that stands still keeps
 * nobody else's files from being cleaned.
 */
#include "daemon/processes/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HANG_SECONDS 60
#define USERS 8u /* their ids are 0 to 7 */

/* What the children do and saw, in memory that they share with us. */
struct seen {
        _Atomic uint32_t is_still; /* a bit a user: its cleaning never ends */
        _Atomic uint32_t calls[USERS];
        _Atomic uint32_t pid[USERS];
        _Atomic uint32_t has_our_file;
};

static struct seen *seen;
static struct sessions all;
static struct store store;
static struct cleanups *cleanups;
static uint32_t waiting; /* a bit a user: it has kept ones that want something */
static int our_file;
static uint64_t passed_ns;

static uint64_t now_ns(void)
{
        return clock_machine_ns() + passed_ns;
}

bool store_is_within(const struct stat *st, uint64_t bytes)
{
        return (uint64_t)st->st_size <= bytes;
}

void store_list_kept(const struct store *unused, const struct store_look *look)
{
        (void)unused;
        for (uint32_t uid = 0; uid < USERS; uid++) {
                if (waiting >> uid & 1 && !look->is_passed(uid, look->context))
                        look->found(uid, look->context);
        }
}

/* In the child. */
void store_clear_kept(const struct store *unused, const struct store_clearing *clearing)
{
        (void)unused;
        store_relaxed(&seen->pid[clearing->uid], (uint32_t)getpid());
        store_relaxed(&seen->has_our_file, fcntl(our_file, F_GETFD) >= 0);
        add_relaxed(clearing->steps, 1);
        add_acq_rel(&seen->calls[clearing->uid], 1);
        while (load_acquire(&seen->is_still) >> clearing->uid & 1)
                pause();
}

static int setup(void **state)
{
        char path[] = "/dev/shm/aliquot-test-XXXXXX";
        char sessions[sizeof(store.path) + 16];

        alarm(HANG_SECONDS);
        seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        our_file = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (seen == MAP_FAILED || our_file < 0 || !mkdtemp(path))
                return -1;
        snprintf(store.path, sizeof(store.path), "%s", path);
        snprintf(sessions, sizeof(sessions), "%s/sessions", path);
        waiting = 0;
        all.entries = 0;
        cleanups = cleanups_new(&all, &store);
        return cleanups ? mkdir(sessions, 0700) : -1;
}

static int teardown(void **state)
{
        char command[sizeof(store.path) + 16];

        cleanups_free(cleanups);
        close(our_file);
        munmap(seen, sizeof(*seen));
        snprintf(command, sizeof(command), "rm -rf '%s'", store.path);
        return system(command);
}

static uint32_t calls(uint32_t uid)
{
        return load_acquire(&seen->calls[uid]);
}

static void tend(void)
{
        cleanups_tend(cleanups, now_ns());
        usleep(1000);
}

/* As often as the daemon does: until there is nothing to do that is not held up. */
static void clean(void)
{
        cleanups_look(cleanups);
        waiting &= load_acquire(&seen->is_still); /* the others' are done */
        do
                tend();
        while (cleanups_are_on(cleanups));
}

static void until_called(uint32_t uid, uint32_t times)
{
        while (calls(uid) < times)
                tend();
}

/* As if so much time had passed without a step. */
static void pass(uint64_t ns)
{
        cleanups_tend(cleanups, now_ns());
        passed_ns += ns;
        cleanups_tend(cleanups, now_ns());
}

/* One session, of us, in the first place. */
static const struct sessions_one *open_session(off_t bytes)
{
        char path[sizeof(store.path) + 32];
        int fd;

        all.session[0] = (struct sessions_one){
                .state = SESSIONS_OPEN, .owner_uid = geteuid(), .name = "theirs", .id = { 7 }
        };
        all.entries = 1;
        snprintf(path, sizeof(path), "%s/sessions/theirs", store.path);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof(path), "%s/sessions/theirs/slots", store.path);
        fd = open(path, O_RDWR | O_CREAT, 0600);
        assert_int_equal(ftruncate(fd, bytes), 0);
        close(fd);
        return &all.session[0];
}

static uint64_t size_of(const struct sessions_one *session)
{
        char path[sizeof(store.path) + SESSIONS_NAME_BYTES + 32];
        struct stat st;

        snprintf(path, sizeof(path), "%s/sessions/%s/slots", store.path, session->name);
        assert_int_equal(stat(path, &st), 0);
        return (uint64_t)st.st_size;
}

/* -- Stories ----------------------------------------------------------------------------------- */

static void each_user_is_cleaned_by_a_process_of_its_own(void **state)
{
        waiting = (1u << USERS) - 1;
        clean();
        for (uint32_t uid = 0; uid < USERS; uid++) {
                assert_int_equal(calls(uid), 1);
                assert_int_not_equal(load_relaxed(&seen->pid[uid]), getpid());
                for (uint32_t other = 0; other < uid; other++)
                        assert_int_not_equal(load_relaxed(&seen->pid[uid]),
                                             load_relaxed(&seen->pid[other]));
        }
        assert_false(load_relaxed(&seen->has_our_file));
        assert_int_equal(cleanups_held(cleanups), 0);
}

static void where_nothing_is_to_be_done_nobody_is_forked(void **state)
{
        open_session(sizeof(struct slots_page));
        cleanups_look(cleanups);
        assert_false(cleanups_are_on(cleanups));
}

static void slots_that_are_too_large_are_cut_and_told_of_once(void **state)
{
        const struct sessions_one *session = open_session(64 << 20);
        struct cleanup_cut cut;
        unsigned place;

        clean();
        assert_int_equal(size_of(session), sizeof(struct slots_page));
        assert_true(cleanups_take(cleanups, &place, &cut));
        assert_int_equal(place, 0);
        assert_memory_equal(cut.id, session->id, sizeof(cut.id));
        assert_int_equal(cut.bytes, 64 << 20);
        assert_int_equal(cut.rc, 0);
        assert_false(cleanups_take(cleanups, &place, &cut));
}

/* As many as get on at a time stand still, and the others' files are cleaned before these are
 * ended. */
static void who_stands_still_keeps_nobody_else_waiting(void **state)
{
        store_release(&seen->is_still, (1u << CLEANUPS_AT_ONCE) - 1);
        waiting = (1u << USERS) - 1;
        cleanups_look(cleanups);
        for (uint32_t uid = 0; uid < USERS; uid++)
                until_called(uid, 1);
        assert_true(cleanups_are_on(cleanups));
}

/* Ended, left alone while it rests, and tried again. */
static void who_stands_still_is_held_and_tried_again(void **state)
{
        store_release(&seen->is_still, 1);
        waiting = 1;
        cleanups_look(cleanups);
        until_called(0, 1);
        pass(CLEANUP_STILL_NS);
        while (cleanups_are_on(cleanups))
                tend();
        assert_int_equal(cleanups_held(cleanups), 1);
        for (unsigned i = 0; i < 100; i++) { /* also when its last child is gone */
                cleanups_look(cleanups);
                tend();
        }
        assert_int_equal(calls(0), 1);
        store_release(&seen->is_still, 0);
        pass(CLEANUP_REST_NS);
        until_called(0, 2);
        while (cleanups_held(cleanups))
                tend();
        assert_false(cleanups_are_on(cleanups));
}

/* Whose files hold up the search: root's, as are those of containers. */
static void who_stands_still_does_not_keep_a_container_s_slots_from_being_cut(void **state)
{
        const struct sessions_one *session = open_session(64 << 20);

        all.session[0].owner_uid = 0;
        strcpy(all.session[0].container.profile, "4GiB");
        strcpy(all.session[0].container.id, "4f2a");
        store_release(&seen->is_still, 1);
        waiting = 1;
        cleanups_look(cleanups);
        until_called(0, 1);
        while (size_of(session) != sizeof(struct slots_page))
                tend();
}

static void every_user_gets_its_turn(void **state)
{
        for (unsigned i = 0; i < 3; i++) {
                waiting = (1u << USERS) - 1;
                clean();
        }
        for (uint32_t uid = 0; uid < USERS; uid++)
                assert_int_equal(calls(uid), 3);
}

#define story(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(each_user_is_cleaned_by_a_process_of_its_own),
                story(where_nothing_is_to_be_done_nobody_is_forked),
                story(slots_that_are_too_large_are_cut_and_told_of_once),
                story(who_stands_still_keeps_nobody_else_waiting),
                story(who_stands_still_is_held_and_tried_again),
                story(who_stands_still_does_not_keep_a_container_s_slots_from_being_cut),
                story(every_user_gets_its_turn),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
