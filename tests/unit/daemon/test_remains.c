/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removed sessions count as their user's until the kernel has let go of all that was in their
 * folders.
 */
#include "daemon/node/remains.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define UID 1000u

static struct store store;
static struct remains *remains;

static const char *path_of(unsigned number, const char *file)
{
        static char path[2 * STORE_PATH_BYTES];

        snprintf(path, sizeof(path), "%s/sessions/s%u%s", store.path, number, file);
        return path;
}

static struct sessions_one one_of(unsigned number, uint32_t uid)
{
        struct sessions_one one = { .owner_uid = uid };

        snprintf(one.name, sizeof(one.name), "s%u", number);
        return one;
}

static void make(unsigned number)
{
        int fd;

        assert_int_equal(mkdir(path_of(number, ""), 0700), 0);
        fd = open(path_of(number, "/slots"), O_RDWR | O_CREAT, 0600);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 4096), 0);
        close(fd);
}

static void end(unsigned number, uint32_t uid)
{
        const struct sessions_one one = one_of(number, uid);

        remains_add(remains, &store, &one);
        assert_int_equal(unlink(path_of(number, "/slots")), 0);
        assert_int_equal(rmdir(path_of(number, "")), 0);
}

static int setup(void **state)
{
        char path[] = "/dev/shm/aliquot-test-XXXXXX";
        char sessions[STORE_PATH_BYTES];

        if (!mkdtemp(path))
                return -1;
        snprintf(store.path, sizeof(store.path), "%s", path);
        remains = remains_new();
        snprintf(sessions, sizeof(sessions), "%s/sessions", path);
        return remains ? mkdir(sessions, 0700) : -1;
}

static int teardown(void **state)
{
        char command[STORE_PATH_BYTES + 16];

        remains_free(remains);
        snprintf(command, sizeof(command), "rm -rf '%s'", store.path);
        return system(command);
}

/* So many that each further one counts. */
static int *spare(void)
{
        static int held[REMAINS_SPARED];

        for (unsigned i = 0; i < REMAINS_SPARED; i++) {
                make(i);
                held[i] = open(path_of(i, "/slots"), O_RDONLY);
                assert_true(held[i] >= 0);
                end(i, UID);
        }
        assert_int_equal(remains_of(remains, UID), 0);
        return held;
}

static void whatever_is_held_of_one_counts(void **state)
{
        int *held = spare();
        int fd;
        void *mapped;

        make(REMAINS_SPARED);
        fd = open(path_of(REMAINS_SPARED, "/slots"), O_RDWR);
        mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        assert_true(mapped != MAP_FAILED);
        close(fd);
        end(REMAINS_SPARED, UID);
        assert_int_equal(remains_of(remains, UID), 1);
        make(REMAINS_SPARED + 1);
        fd = open(path_of(REMAINS_SPARED + 1, ""), O_PATH);
        end(REMAINS_SPARED + 1, UID);
        assert_int_equal(remains_of(remains, UID), 2);
        assert_int_equal(remains_of(remains, UID + 1), 0);
        munmap(mapped, 4096);
        assert_int_equal(remains_of(remains, UID), 1);
        close(fd);
        assert_int_equal(remains_of(remains, UID), 0);
        for (unsigned i = 0; i < REMAINS_SPARED; i++)
                close(held[i]);
}

static void one_that_nobody_holds_counts_no_more(void **state)
{
        for (unsigned i = 0; i < 2 * REMAINS_SPARED; i++) {
                make(i);
                end(i, UID);
        }
        assert_int_equal(remains_of(remains, UID), 0);
}

/* Where removing it fails, it is tried again. */
static void one_that_is_added_twice_counts_once(void **state)
{
        const struct sessions_one one = one_of(REMAINS_SPARED, UID);
        int *held = spare();

        make(REMAINS_SPARED);
        remains_add(remains, &store, &one);
        remains_add(remains, &store, &one);
        assert_int_equal(remains_of(remains, UID), 1);
        end(REMAINS_SPARED, UID);
        assert_int_equal(remains_of(remains, UID), 0);
        for (unsigned i = 0; i < REMAINS_SPARED; i++)
                close(held[i]);
}

static void one_that_has_no_folder_does_not_count(void **state)
{
        const struct sessions_one one = one_of(1, UID);

        remains_add(remains, &store, &one);
        assert_int_equal(remains_of(remains, UID), 0);
}

#define story(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(whatever_is_held_of_one_counts),
                story(one_that_nobody_holds_counts_no_more),
                story(one_that_is_added_twice_counts_once),
                story(one_that_has_no_folder_does_not_count),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
