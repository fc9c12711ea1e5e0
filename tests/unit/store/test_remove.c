/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session goes whole, or not while somebody lives in it; a removal cut short is finished later.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "store/liveness.h"

#include "fixture.h"

#define SETTLE_US 50000 /* a remover that does not wait is done by then */

static void test_removing(void **state)
{
        struct liveness_file file = { .path = path_of("used", "slots") };
        struct store_session session;
        struct error err;
        void *pin;

        assert_int_equal(store_remove(&store, "none", false, NULL), -ENOENT);
        make("used");
        assert_int_equal(store_join(&store, "used", false, &session, NULL), 0);
        file.device = session.slots_file.device;
        file.inode = session.slots_file.inode;
        assert_int_equal(liveness_lock(&file, PAGE_LOCK_LIVE(0), &pin), 0);
        assert_int_equal(store_is_live(&session, NULL), 1);
        assert_int_equal(store_remove(&store, "used", false, &err), -EBUSY);
        assert_non_null(strstr(err.text, "--force"));
        /* Refused means unchanged: others can still join and charge. */
        assert_true(store_is_current(&session));
        expect_refused("nobody", -ENOENT, "nobody");
        liveness_unlock(pin);
        assert_int_equal(store_is_live(&session, NULL), 0);
        assert_int_equal(store_remove(&store, "used", false, NULL), 0);
        /* Who had it mapped can see that it is over. */
        assert_false(store_is_current(&session));
        expect_refused("used", -ENOENT, "used");
        store_close(&session);

        make("forced");
        assert_int_equal(store_join(&store, "forced", false, &session, NULL), 0);
        assert_int_equal(store_remove(&store, "forced", true, NULL), 0);
        assert_false(store_is_current(&session));
        store_close(&session);
}

/* In any slot, and who is about to take one or to finish for a dead one. */
static void test_whoever_lives_in_it_is_seen(void **state)
{
        static const uint64_t bytes[] = { PAGE_LOCK_LIVE(1), PAGE_LOCK_LIVE(PAGE_SLOTS - 1),
                                          PAGE_LOCK_RECOVER(0), PAGE_LOCK_RECOVER(PAGE_SLOTS - 1) };
        struct liveness_file file = { .path = path_of("used", "slots") };
        struct store_session session;

        make("used");
        assert_int_equal(store_join(&store, "used", false, &session, NULL), 0);
        file.device = session.slots_file.device;
        file.inode = session.slots_file.inode;
        for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
                void *pin;

                assert_int_equal(liveness_lock(&file, bytes[i], &pin), 0);
                assert_int_equal(store_is_live(&session, NULL), 1);
                liveness_unlock(pin);
        }
        assert_int_equal(store_is_live(&session, NULL), 0);
        store_close(&session);
}

/* What lies in a broken session's folder goes with it; what a link in it names stays. */
static void test_removing_what_is_broken(void **state)
{
        make("bystander");
        make("broken");
        assert_int_equal(unlink(path_of("broken", "slots")), 0);
        assert_int_equal(mkdir(path_of("broken", "slots"), 0700), 0);
        assert_int_equal(mkdir(path_of("broken", "slots/deeper"), 0700), 0);
        assert_int_equal(symlink("../bystander", path_of("broken", "link")), 0);
        assert_int_equal(symlink("../../../bystander/limits", path_of("broken", "slots/link")), 0);
        assert_true(store_remove(&store, "broken", false, NULL) < 0);
        assert_int_equal(access(path_of("broken", "slots/deeper"), F_OK), 0);
        assert_int_equal(store_remove(&store, "broken", true, NULL), 0);
        assert_int_equal(rmdir(path_of("", "")), -1);
        assert_int_equal(store_remove(&store, "bystander", false, NULL), 0);
        /* Not a trace of either. */
        assert_int_equal(rmdir(path_of("", "")), 0);
}

/* A remover that died half way: nobody joins, and the next remover finishes. */
static void test_a_removal_that_was_not_finished(void **state)
{
        struct store_session session;

        make_and_join("dying", &session);
        session.limits->removed = 1;
        store_close(&session);
        expect_refused("dying", -EBUSY, "being removed");
        assert_int_equal(store_remove(&store, "dying", false, NULL), 0);
        expect_refused("dying", -ENOENT, "dying");
}

static void *remove_it(void *unused)
{
        return (void *)(intptr_t)store_remove(&store, "turns", false, NULL);
}

/* A second remover would rename away what was made under the same name since. */
static void test_removers_take_turns(void **state)
{
        struct store_session session;
        pthread_t remover;
        void *rc;
        int sessions;

        make("turns");
        sessions = open(path_of("", ""), O_RDONLY | O_DIRECTORY);
        assert_int_equal(flock(sessions, LOCK_EX), 0); /* as somebody who is at it */
        assert_int_equal(pthread_create(&remover, NULL, remove_it, NULL), 0);
        usleep(SETTLE_US);
        assert_int_equal(store_join(&store, "turns", false, &session, NULL), 0);
        assert_true(store_is_current(&session));
        close(sessions);
        pthread_join(remover, &rc);
        assert_int_equal((intptr_t)rc, 0);
        assert_false(store_is_current(&session));
        store_close(&session);
}

/* Who was stopped at a removal keeps his turn: nobody waits for him for good. */
static void test_a_removal_that_was_stopped_does_not_hang_the_others(void **state)
{
        struct error err;
        int stopped;

        make("one");
        stopped = open(path_of("", ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(stopped, LOCK_EX), 0);
        assert_int_equal(store_remove(&store, "one", false, &err), -EBUSY);
        assert_non_null(strstr(err.text, "another removal in"));
        assert_int_equal(access(path_of("one", ""), F_OK), 0);
        close(stopped);
        assert_int_equal(store_remove(&store, "one", false, NULL), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_removing),
                story(test_whoever_lives_in_it_is_seen),
                story(test_removing_what_is_broken),
                story(test_a_removal_that_was_not_finished),
                story(test_removers_take_turns),
                story(test_a_removal_that_was_stopped_does_not_hang_the_others),
        };

        return cmocka_run_group_tests_name("remove", tests, NULL, NULL);
}
