/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has a lock on a file, by the kernel's list. Others may have as many locks as they like: the
 * list is then read for a bounded time, and what was not found is unknown.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/file_locks.h"
#include "common/machine_clock.h"

/* All together: a second and a half of reading, where nothing bounds it. Each lock of a file makes
 * its next one dearer. */
#define FILES 40
#define LOCKS_EACH 2000
/* One read of the list may take long where other processes change it meanwhile. */
#define MAX_NS (10 * FILE_LOCKS_NS)

#define HANG_SECONDS 120

struct file {
        char path[32];
        int fd;
};

static struct file file_make(void)
{
        struct file file = { .path = "/tmp/file-locks-XXXXXX" };

        file.fd = mkstemp(file.path);
        assert_true(file.fd >= 0);
        return file;
}

static void file_end(struct file *file)
{
        close(file->fd);
        unlink(file->path);
}

/* Other tests beside this one may have many locks for a while. */
static enum file_locks find_at_last(const char *path, const char *kind, const char *mode,
                                    pid_t *ret_pid)
{
        enum file_locks found = FILE_LOCKS_UNKNOWN;

        for (unsigned i = 0; i < HANG_SECONDS * 10 && found == FILE_LOCKS_UNKNOWN; i++) {
                if (i > 0)
                        usleep(100000);
                found = file_locks_find(path, kind, mode, ret_pid);
        }
        return found;
}

static void a_lock_is_told_with_its_holder(void **state)
{
        struct file file = file_make();
        pid_t pid = -1;

        assert_int_equal(find_at_last(file.path, "FLOCK", NULL, &pid), FILE_LOCKS_NONE);
        assert_int_equal(pid, 0);
        assert_int_equal(flock(file.fd, LOCK_EX), 0);
        assert_int_equal(find_at_last(file.path, "FLOCK", "WRITE", &pid), FILE_LOCKS_HELD);
        assert_int_equal(pid, getpid());
        assert_int_equal(find_at_last(file.path, "FLOCK", "READ", NULL), FILE_LOCKS_NONE);
        assert_int_equal(find_at_last(file.path, "POSIX", NULL, NULL), FILE_LOCKS_NONE);
        file_end(&file);
        assert_int_equal(find_at_last(file.path, "FLOCK", NULL, NULL), FILE_LOCKS_NONE);
}

static void take_many(struct file *file)
{
        *file = file_make();
        unlink(file->path); /* nobody looks for it, and a test that fails leaves nothing behind */
        for (off_t byte = 0; byte < 2 * LOCKS_EACH; byte += 2) {
                struct flock lock = {
                        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
                };

                assert_int_equal(fcntl(file->fd, F_SETLK, &lock), 0);
        }
}

/* Nobody has a lock on the file: only the end of the list would tell. */
static void many_locks_of_others_take_a_bounded_time(void **state)
{
        struct file file = file_make(), others[FILES];
        uint64_t began_ns, spent_ns;

        for (unsigned i = 0; i < FILES; i++)
                take_many(&others[i]);
        began_ns = clock_thread_ns();
        assert_int_equal(file_locks_find(file.path, "FLOCK", NULL, NULL), FILE_LOCKS_UNKNOWN);
        spent_ns = clock_thread_ns() - began_ns;
        for (unsigned i = 0; i < FILES; i++)
                close(others[i].fd);
        assert_in_range(spent_ns, FILE_LOCKS_NS, MAX_NS);
        assert_int_equal(find_at_last(file.path, "FLOCK", NULL, NULL), FILE_LOCKS_NONE);
        file_end(&file);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_lock_is_told_with_its_holder),
                cmocka_unit_test(many_locks_of_others_take_a_bounded_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
