/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever lies where a session should be is refused with one line, unless it is a session of ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

static int count_names(const char *name, void *context)
{
        ++*(unsigned *)context;
        return 0;
}

static void overwrite(const char *path, off_t at, const void *bytes, size_t count)
{
        int fd = open(path, O_WRONLY);

        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, bytes, count, at), count);
        close(fd);
}

static void test_truncated_stale_and_mixed_pages(void **state)
{
        const uint32_t version = 99;
        const uint64_t id = 1;
        struct error err;

        make("short");
        assert_int_equal(truncate(path_of("short", "limits"), 100), 0);
        expect_refused("short", -EPROTO, "limits is 100 bytes");
        make("empty");
        assert_int_equal(truncate(path_of("empty", "slots"), 0), 0);
        expect_refused("empty", -EPROTO, "slots is 0 bytes");
        make("long");
        assert_int_equal(truncate(path_of("long", "slots"), 1 << 30), 0);
        expect_refused("long", -EPROTO, "slots is 1073741824 bytes");
        make("stale");
        overwrite(path_of("stale", "limits"), offsetof(struct limits_page, version), &version, 4);
        expect_refused("stale", -EPROTO, "version");
        make("stale2");
        overwrite(path_of("stale2", "slots"), offsetof(struct slots_page, version), &version, 4);
        expect_refused("stale2", -EPROTO, "version");
        make("zeros");
        assert_int_equal(truncate(path_of("zeros", "limits"), 0), 0);
        assert_int_equal(truncate(path_of("zeros", "limits"), sizeof(struct limits_page)), 0);
        expect_refused("zeros", -EPROTO, "zeros");
        make("mixed");
        overwrite(path_of("mixed", "slots"), offsetof(struct slots_page, session_id), &id, 8);
        expect_refused("mixed", -EPROTO, "different sessions");
        make("gone");
        assert_int_equal(unlink(path_of("gone", "slots")), 0);
        /* Not "there is none": that would make a second one beside it. */
        expect_refused("gone", -EPROTO, "slots");
        make("name");
        overwrite(path_of("name", "limits"), offsetof(struct limits_page, name), "eman", 4);
        expect_refused("name", -EPROTO, "another session");

        /* Broken ones can be removed, but not by mistake. */
        assert_true(store_remove(&store, "mixed", false, &err) < 0);
        assert_int_equal(store_remove(&store, "mixed", true, NULL), 0);
        assert_int_equal(access(path_of("mixed", ""), F_OK), -1);
}

static void test_links_and_other_things_in_the_way(void **state)
{
        char target[2 * STORE_PATH_BYTES];
        struct store_request request = request_of("dangling");
        struct store_session session;

        make("real");
        snprintf(target, sizeof(target), "%s", path_of("real", ""));
        assert_int_equal(symlink(target, path_of("link", "")), 0);
        expect_refused("link", -ENOTDIR, "is a link");
        snprintf(target, sizeof(target), "%s", path_of("real", "slots"));
        make("inner");
        unlink(path_of("inner", "slots"));
        assert_int_equal(symlink(target, path_of("inner", "slots")), 0);
        expect_refused("inner", -ELOOP, "slots");
        make("fifo");
        unlink(path_of("fifo", "slots"));
        assert_int_equal(mkfifo(path_of("fifo", "slots"), 0600), 0);
        expect_refused("fifo", -EPROTO, "no plain file");
        make("folder");
        unlink(path_of("folder", "slots"));
        assert_int_equal(mkdir(path_of("folder", "slots"), 0700), 0);
        expect_refused("folder", -EISDIR, "slots");
        close(open(path_of("file", ""), O_CREAT | O_WRONLY, 0600));
        expect_refused("file", -ENOTDIR, "is a link or a file");
        /* A maker does not write through a link either, nor replace it. */
        assert_int_equal(symlink("/nowhere/at/all", path_of("dangling", "")), 0);
        assert_int_equal(store_create(&store, &request, &session, NULL), -EEXIST);
}

static void expect_refused_with(const char *path, mode_t mode)
{
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(chmod(path, mode), 0);
        expect_refused("open", -EPERM, "can be written by others");
        assert_int_equal(chmod(path, st.st_mode), 0);
}

/* Its group is others, too. */
static void test_what_others_could_write_is_not_believed(void **state)
{
        make("open");
        for (mode_t bit = 0002; bit <= 0020; bit <<= 3) {
                expect_refused_with(path_of("open", "limits"), 0600 | bit);
                expect_refused_with(path_of("open", "slots"), 0600 | bit);
                expect_refused_with(path_of("open", ""), 0700 | bit);
                expect_refused_with(store.path, 0700 | bit);
        }
}

static void test_strangers_files(void **state)
{
        if (geteuid() != 0)
                skip(); /* only root can give files away */
        make("theirs");
        assert_int_equal(chown(path_of("theirs", "limits"), 12345, 12345), 0);
        expect_refused("theirs", -EPERM, "belongs to user 12345");
        make("theirs2");
        assert_int_equal(chown(path_of("theirs2", ""), 12345, 12345), 0);
        expect_refused("theirs2", -EPERM, "belongs to user 12345");
        assert_int_equal(chown(store.path, 12345, 12345), 0);
        expect_refused("any", -EPERM, "belongs to user 12345");
}

static int reject(const char *name, void *context)
{
        fail_msg("%s is listed", name);
        return 0;
}

static void test_names(void **state)
{
        static const char *const bad[] = { "", ".", "..", ".x", "a/b", "../x", "a b", "a\nb" };
        struct store_session session;

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct store_request request = request_of(bad[i]);

                assert_int_equal(store_join(&store, bad[i], false, &session, NULL), -EINVAL);
                assert_int_equal(store_create(&store, &request, &session, NULL), -EINVAL);
                assert_int_equal(store_remove(&store, bad[i], true, NULL), -EINVAL);
        }
        assert_int_equal(store_list(&store, reject, NULL, NULL), 0);
}

static void test_choosing_a_runtime_folder(void **state)
{
        char path[2 * STORE_PATH_BYTES], below[2 * STORE_PATH_BYTES + 16];
        struct store found;
        struct error err;
        struct stat st;

        snprintf(path, sizeof(path), "%s/mine", store.path);
        assert_int_equal(store_find(&found, path, false, NULL), -ENOENT);
        assert_int_equal(store_find(&found, path, true, NULL), 0);
        assert_string_equal(found.path, path);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        snprintf(below, sizeof(below), "%s/not/there", path);
        assert_int_equal(store_find(&found, below, true, &err), -ENOENT);
        assert_non_null(strstr(err.text, below));
        snprintf(below, sizeof(below), "%s/link", store.path);
        assert_int_equal(symlink(path, below), 0);
        assert_int_equal(store_find(&found, below, true, NULL), -ENOTDIR);
        assert_int_equal(chmod(path, 0777), 0);
        assert_int_equal(store_find(&found, path, true, NULL), -EPERM);
}

static void put_file(const char *folder, const char *name)
{
        char path[3 * STORE_PATH_BYTES];
        int fd;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
}

/* Sessions are made in a folder that is empty or ours, never among other things. */
static void test_a_folder_that_is_used_for_other_things(void **state)
{
        char path[2 * STORE_PATH_BYTES], sessions[2 * STORE_PATH_BYTES + 16];
        struct store found;
        struct error err;

        snprintf(path, sizeof(path), "%s/other", store.path);
        assert_int_equal(mkdir(path, 0700), 0);
        put_file(path, "daemon.lock");
        put_file(path, "aliquotd.sock");
        assert_int_equal(store_find(&found, path, true, NULL), 0);
        put_file(path, "passwd");
        for (int make = 0; make < 2; make++) {
                assert_int_equal(store_find(&found, path, make, &err), -ENOTEMPTY);
                assert_non_null(strstr(err.text, "such as"));
        }
        snprintf(sessions, sizeof(sessions), "%s/sessions", path);
        assert_int_equal(access(sessions, F_OK), -1);

        /* What comes later beside sessions does not end them. */
        assert_int_equal(mkdir(sessions, 0700), 0);
        assert_int_equal(store_find(&found, path, true, NULL), 0);
}

/* A file system without room is found out by a call that fails, not by a write that kills. */
static void test_a_full_file_system(void **state)
{
        struct store_request request = request_of("full");
        struct store_session session;
        struct error err = { 0 };
        unsigned left = 0;
        int fd;

        if (mount("tmpfs", store.path, "tmpfs", 0, "size=4k,mode=0700") < 0)
                skip(); /* only root can make one */
        assert_int_equal(store_create(&store, &request, &session, &err), -ENOSPC);
        assert_non_null(strstr(err.text, "session full"));
        assert_int_equal(store_list(&store, count_names, &left, NULL), 0);
        assert_int_equal(left, 0);
        /* Nothing is left of the attempt: with a little more room the next one succeeds. */
        assert_int_equal(mount("tmpfs", store.path, "tmpfs", MS_REMOUNT, "size=8k,mode=0700"), 0);
        assert_int_equal(store_create(&store, &request, &session, &err), 0);
        store_close(&session);
        fd = open(path_of("full", "slots"), O_RDWR);
        assert_int_equal(store_reserve_slot(fd, 1000, &err), -ENOSPC);
        /* The first slot's row is needed with any: one page would do for the second's alone. */
        assert_int_equal(mount("tmpfs", store.path, "tmpfs", MS_REMOUNT, "size=12k,mode=0700"), 0);
        assert_int_equal(store_reserve_slot(fd, 1, &err), -ENOSPC);
        assert_int_equal(mount("tmpfs", store.path, "tmpfs", MS_REMOUNT, "size=16k,mode=0700"), 0);
        assert_int_equal(store_reserve_slot(fd, 1, &err), 0);
        close(fd);
        assert_int_equal(umount(store.path), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_truncated_stale_and_mixed_pages),
                story(test_links_and_other_things_in_the_way),
                story(test_what_others_could_write_is_not_believed),
                story(test_strangers_files),
                story(test_names),
                story(test_choosing_a_runtime_folder),
                story(test_a_folder_that_is_used_for_other_things),
                story(test_a_full_file_system),
        };

        return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
