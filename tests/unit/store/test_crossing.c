/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes, joins or lists sessions while somebody removes them is told that one is there, that it
 * is not, or to come again: never that it is broken, and no remover that it failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "common/atomic.h"

#include "fixture.h"

#define ROUNDS 300u /* the first few were enough to show either */

static _Atomic bool is_over;

/* The code that ended a thread's round, which ends the story. */
static void *give_up(int rc)
{
        store_release(&is_over, true);
        return (void *)(intptr_t)rc;
}

static void *make_again_and_again(void *unused)
{
        const struct store_request request = request_of("one");

        while (!load_acquire(&is_over)) {
                struct store_session session;
                int rc = store_create(&store, &request, &session, NULL);

                if (rc == 0)
                        store_close(&session);
                else if (rc != -EEXIST && rc != -EBUSY)
                        return give_up(rc);
        }
        return NULL;
}

static void *join_again_and_again(void *unused)
{
        while (!load_acquire(&is_over)) {
                struct store_session session;
                int rc = store_join(&store, "one", false, &session, NULL);

                if (rc == 0)
                        store_close(&session);
                else if (rc != -ENOENT && rc != -EBUSY)
                        return give_up(rc);
        }
        return NULL;
}

static void test_joining_and_making_what_is_removed(void **state)
{
        pthread_t maker, joiner;
        void *maker_failed, *joiner_failed;

        store_release(&is_over, false);
        make("another"); /* the folder of all sessions is there from the start */
        assert_int_equal(pthread_create(&maker, NULL, make_again_and_again, NULL), 0);
        assert_int_equal(pthread_create(&joiner, NULL, join_again_and_again, NULL), 0);
        for (unsigned removed = 0; removed < ROUNDS && !load_acquire(&is_over);) {
                struct error err;
                int rc = store_remove(&store, "one", false, &err);

                if (rc < 0 && rc != -ENOENT)
                        fail_msg("remove: %s", err.text);
                removed += rc == 0;
        }
        store_release(&is_over, true);
        pthread_join(maker, &maker_failed);
        pthread_join(joiner, &joiner_failed);
        assert_int_equal((intptr_t)maker_failed, 0);
        assert_int_equal((intptr_t)joiner_failed, 0);
}

static int look(const char *name, void *unused)
{
        return 0;
}

/* Whoever lists deletes what removers left behind, which of an old session looks as if it had lain
 * there for long. */
static void *list_again_and_again(void *unused)
{
        while (!load_acquire(&is_over)) {
                int rc = store_list(&store, look, NULL, NULL);

                if (rc < 0)
                        return give_up(rc);
        }
        return NULL;
}

static void test_listing_beside_a_remover(void **state)
{
        const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
        pthread_t lister;
        void *failed;

        store_release(&is_over, false);
        make("another");
        assert_int_equal(pthread_create(&lister, NULL, list_again_and_again, NULL), 0);
        for (unsigned removed = 0; removed < ROUNDS; removed++) {
                struct error err;

                make("old");
                utimensat(AT_FDCWD, path_of("old", ""), long_ago, 0);
                if (store_remove(&store, "old", false, &err) < 0)
                        fail_msg("remove: %s", err.text);
        }
        store_release(&is_over, true);
        pthread_join(lister, &failed);
        assert_int_equal((intptr_t)failed, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_joining_and_making_what_is_removed),
                story(test_listing_beside_a_remover),
        };

        return cmocka_run_group_tests_name("crossing", tests, NULL, NULL);
}
