/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A locked byte lives exactly as long as the address space that took it.
 */
#include "store/liveness.h"
#include "store/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char path[] = "/dev/shm/aliquot-liveness-XXXXXX";
static struct liveness_file file = { .path = path };
static struct slots_page *slots;

static int make_file(void **state)
{
        struct stat st;
        int fd = mkstemp(path);

        if (fd < 0 || ftruncate(fd, sizeof(*slots)) < 0 || fstat(fd, &st) < 0)
                return -1;
        slots = mmap(NULL, sizeof(*slots), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        file.device = st.st_dev;
        file.inode = st.st_ino;
        return slots == MAP_FAILED ? -1 : 0;
}

static int remove_file(void **state)
{
        return unlink(path);
}

static int probe(uint64_t byte)
{
        int fd = liveness_open(&file);
        int held;

        assert_true(fd >= 0);
        held = liveness_probe(fd, byte);
        liveness_close(fd);
        return held;
}

/* A child that runs `act` and then waits to be killed. */
static pid_t child_start(void (*act)(void))
{
        int ready[2];
        char byte = 0;
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                act();
                if (write(ready[1], &byte, 1) == 1)
                        pause();
                _exit(1);
        }
        close(ready[1]); /* a child that ends without a word is told by that */
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        return pid;
}

static void child_end(pid_t pid)
{
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void one_holds_and_others_see(void **state)
{
        void *pin, *second;

        assert_int_equal(probe(8), 0);
        assert_int_equal(liveness_lock(&file, 8, &pin), 0);
        assert_int_equal(probe(8), 1);
        assert_int_equal(probe(9), 0);
        assert_int_equal(liveness_lock(&file, 8, &second), -EAGAIN);
        liveness_unlock(pin);
        assert_int_equal(probe(8), 0);
}

static void lock_three(void)
{
        void *pin;

        if (liveness_lock(&file, 3, &pin) < 0)
                _exit(1);
}

static void a_killed_holder_holds_nothing(void **state)
{
        pid_t pid = child_start(lock_three);

        assert_int_equal(probe(3), 1);
        child_end(pid);
        assert_int_equal(probe(3), 0);
}

static void lock_and_close_everything(void)
{
        lock_three();
        for (int fd = 3; fd < 2048; fd++)
                if (fd != 4 && fd != 5) /* the pipe */
                        close(fd);
}

static void closing_all_descriptors_does_not_free_it(void **state)
{
        pid_t pid = child_start(lock_and_close_everything);

        assert_int_equal(probe(3), 1);
        child_end(pid);
}

static void do_nothing(void)
{
}

static void a_child_does_not_inherit_it(void **state)
{
        void *pin;
        pid_t pid;

        assert_int_equal(liveness_lock(&file, 5, &pin), 0);
        pid = child_start(do_nothing);
        liveness_unlock(pin);
        assert_int_equal(probe(5), 0);
        child_end(pid);
}

static void another_file_at_the_path_is_refused(void **state)
{
        struct liveness_file stranger = file;
        void *pin;

        stranger.inode++;
        assert_int_equal(liveness_open(&stranger), -ESTALE);
        assert_int_equal(liveness_lock(&stranger, 1, &pin), -ESTALE);
        stranger.path = "/dev/shm/there/is/none";
        assert_int_equal(liveness_lock(&stranger, 1, &pin), -ENOENT);
}

static void a_link_at_the_path_is_not_followed(void **state)
{
        struct liveness_file link = file;
        char name[64];

        snprintf(name, sizeof(name), "%s.link", path);
        assert_int_equal(symlink(path, name), 0);
        link.path = name;
        assert_int_equal(liveness_open(&link), -ELOOP);
        unlink(name);
}

static void descriptors_are_high_and_close_on_exec(void **state)
{
        struct rlimit limit, low;
        int fd = liveness_open(&file);

        assert_true(fd >= 512);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        liveness_close(fd);

        getrlimit(RLIMIT_NOFILE, &limit);
        low = limit;
        low.rlim_cur = 100;
        setrlimit(RLIMIT_NOFILE, &low);
        fd = liveness_open(&file);
        setrlimit(RLIMIT_NOFILE, &limit);
        assert_in_range(fd, 3, 99);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        liveness_close(fd);
}

static void describe_in_slot_two(void)
{
        void *pin;

        usage_describe_self(&slots->slot[2]);
        slots->slots_high = 4;
        slots->row[2][1].charge[0] = 777;
        if (liveness_lock(&file, PAGE_LOCK_LIVE(2), &pin) < 0)
                _exit(1);
}

static void the_living_are_listed_and_the_dead_are_not(void **state)
{
        struct usage_process list[4];
        pid_t pid = child_start(describe_in_slot_two);

        assert_int_equal(usage_list(slots, &file, list, 4), 1);
        assert_int_equal(list[0].slot, 2);
        assert_int_equal(list[0].pid, pid);
        usage_name(list, 1, USAGE_NO_BOUND);
        assert_int_equal(list[0].local_pid, pid);
        assert_int_equal(list[0].uid, getuid());
        assert_true(list[0].start_ticks > 0);
        assert_int_equal(list[0].bytes[1], 777);
        assert_true(strncmp(list[0].command, "unit-store", 10) == 0);
        assert_int_equal(usage_list(slots, &file, NULL, 0), 1);
        child_end(pid);
        assert_int_equal(usage_list(slots, &file, list, 4), 0);
}

/* A pid that is used again is another process, and one that cannot be read is nobody's. */
static void a_process_is_known_by_its_pid_and_when_it_started(void **state)
{
        static const struct usage_process nobody;
        struct usage_process process;
        pid_t pid = child_start(describe_in_slot_two);

        assert_int_equal(usage_list(slots, &file, &process, 1), 1);
        assert_true(usage_is_process(&process, (uint32_t)pid));
        assert_false(usage_is_process(&process, (uint32_t)getpid()));
        process.start_ticks++;
        assert_false(usage_is_process(&process, (uint32_t)pid));
        process.start_ticks--;
        process.pid++;
        assert_false(usage_is_process(&process, (uint32_t)pid));
        child_end(pid);
        assert_false(usage_is_process(&nobody, INT32_MAX));
}

static void rubbish_in_a_slot_is_made_printable(void **state)
{
        struct usage_process list[4];
        pid_t pid = child_start(describe_in_slot_two);

        memset(&slots->slot[2], 0xff, sizeof(slots->slot[2]));
        slots->slots_high = UINT32_MAX;
        assert_int_equal(usage_list(slots, &file, list, 4), 1);
        assert_int_equal(strlen(list[0].command), sizeof(list[0].command) - 1);
        assert_int_equal(list[0].command[0], '?');
        usage_name(list, 1, USAGE_NO_BOUND);
        assert_int_equal(list[0].local_pid, 0);
        child_end(pid);
}

/* -- What a tenant writes does not decide how long a reader works -- */

static unsigned walks;

/* The C library's, counted. */
DIR *opendir(const char *name)
{
        walks += strcmp(name, "/proc") == 0;
        return fdopendir(open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static void hold_every_slot(void)
{
        int fd = liveness_open(&file);
        struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

        slots->slots_high = UINT32_MAX;
        for (unsigned i = 0; i < PAGE_SLOTS; i++) {
                slots->slot[i].pid = 1 + i;
                slots->slot[i].pid_ns_inode = 1;
                slots->slot[i].start_ticks = 1 + i;
        }
        if (fd < 0 || fcntl(fd, F_OFD_SETLK, &all) < 0)
                _exit(1);
}

static void forged_slots_cost_one_walk_over_processes_together(void **state)
{
        static struct usage_process list[PAGE_SLOTS];
        pid_t pid = child_start(hold_every_slot);

        assert_int_equal(usage_list(slots, &file, list, PAGE_SLOTS), PAGE_SLOTS);
        walks = 0;
        usage_name(list, PAGE_SLOTS, USAGE_NO_BOUND);
        assert_int_equal(walks, 1);
        usage_name(list, PAGE_SLOTS, 0);
        assert_int_equal(walks, 1);
        child_end(pid);
}

/* Locks of slots and of their recovery, of a range and of one each, in no order. */
static void hold_some(void)
{
        static const struct flock some[] = {
                { .l_start = PAGE_LOCK_LIVE(4000), .l_len = 1 },
                { .l_start = PAGE_LOCK_LIVE(70), .l_len = 6 },
                { .l_start = PAGE_LOCK_RECOVER(3), .l_len = 1 },
                { .l_start = PAGE_LOCK_LIVE(0), .l_len = 1 },
                { .l_start = PAGE_LOCK_RECOVER(100), .l_len = 2 },
                { .l_start = PAGE_LOCK_LIVE(4095), .l_len = 0 },
        };

        slots->slots_high = PAGE_SLOTS;
        for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
                struct flock lock = some[i];
                int fd = liveness_open(&file);

                lock.l_type = F_WRLCK;
                lock.l_whence = SEEK_SET;
                if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0)
                        _exit(1);
        }
}

static void the_living_are_those_whose_byte_is_held(void **state)
{
        static const uint32_t living[] = { 0, 70, 71, 72, 101, 4000, 4095 };
        static struct usage_process list[PAGE_SLOTS];
        pid_t pid = child_start(hold_some);

        assert_int_equal(usage_list(slots, &file, list, PAGE_SLOTS), 7);
        for (unsigned i = 0; i < 7; i++)
                assert_int_equal(list[i].slot, living[i]);
        child_end(pid);
}

/* -- Through a descriptor that is kept -- */

static unsigned renewals;
static int renewal; /* what renew() fails with; 0: it gives one */

static int renew(void)
{
        renewals++;
        return renewal < 0 ? renewal : open(path, O_RDWR | O_CLOEXEC);
}

static struct liveness_kept kept;

static struct liveness_file kept_file(void)
{
        int fd = open(path, O_RDWR | O_CLOEXEC);

        renewals = 0;
        renewal = 0;
        kept = (struct liveness_kept){ .fd = -1, .renew = renew };
        liveness_keep(&kept, liveness_raise(fd));
        return (struct liveness_file){ "a name for messages", file.device, file.inode, &kept };
}

static int lock_free_after(const struct liveness_file *kept_way)
{
        void *pin;
        int rc = liveness_lock(kept_way, 4, &pin);

        if (rc < 0)
                return rc;
        assert_int_equal(probe(4), 1);
        liveness_unlock(pin);
        return probe(4);
}

/* What is kept carries no lock: else none would ever be free again. */
static void a_lock_through_what_is_kept_ends_as_any_other(void **state)
{
        const struct liveness_file way = kept_file();

        assert_true(kept.fd >= 512);
        assert_int_equal(fcntl(kept.fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(lock_free_after(&way), 0);
        assert_int_equal(lock_free_after(&way), 0);
        assert_int_equal(renewals, 0);
        close(kept.fd);
}

static void a_descriptor_that_was_closed_is_asked_for_again(void **state)
{
        const struct liveness_file way = kept_file();

        close(kept.fd);
        assert_int_equal(lock_free_after(&way), 0);
        assert_int_equal(lock_free_after(&way), 0);
        assert_int_equal(renewals, 1);
        close(kept.fd);
        renewal = -ETIMEDOUT;
        assert_int_equal(lock_free_after(&way), -ETIMEDOUT);
}

static void another_file_under_its_number_is_left_alone(void **state)
{
        const struct liveness_file way = kept_file();
        int theirs = kept.fd;
        int other = open("/dev/null", O_RDWR | O_CLOEXEC);

        assert_int_equal(dup3(other, theirs, O_CLOEXEC), theirs);
        assert_int_equal(lock_free_after(&way), 0);
        assert_int_equal(renewals, 1);
        assert_int_not_equal(kept.fd, theirs);
        assert_int_equal(fcntl(theirs, F_GETFD), FD_CLOEXEC);
        close(other);
        close(theirs);
        close(kept.fd);
}

static void a_low_descriptor_is_not_kept(void **state)
{
        struct liveness_kept none = { .fd = -1, .renew = renew };
        int fd = open(path, O_RDWR | O_CLOEXEC);

        liveness_keep(&none, fd);
        assert_int_equal(none.fd, -1);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* -- However many locks there are -- */

#define BEFORE 2000u /* beyond all slots, and walked before those that are asked for */
#define HELD 20u

/* A process's own locks stand by where they begin, a description's each in its own place. So each
 * of ours is of one of its own, and comes last. */
static void hold_many(void)
{
        int first = open(path, O_RDWR | O_CLOEXEC);

        for (unsigned i = 0; i < BEFORE; i++) {
                struct flock lock = { .l_type = F_WRLCK,
                                      .l_start = (off_t)1 << 40 | (off_t)(2 * i),
                                      .l_len = 1 };

                if (fcntl(first, F_SETLK, &lock) < 0)
                        _exit(1);
        }
        for (unsigned i = 0; i < HELD; i++) {
                struct flock lock = { .l_type = F_WRLCK, .l_start = PAGE_LOCK_LIVE(i), .l_len = 1 };

                if (fcntl(open(path, O_RDWR | O_CLOEXEC), F_OFD_SETLK, &lock) < 0)
                        _exit(1);
        }
        slots->slots_high = PAGE_SLOTS;
}

/* One probe can take as long as the file's owner wants: the bound is looked at after each. */
static void a_listing_ends_however_many_locks_there_are(void **state)
{
        struct usage_process none;
        pid_t pid = child_start(hold_many);
        const struct usage_look no_time = { &file, 0 };
        const struct usage_look all_time = { &file, USAGE_NO_BOUND };
        int ended = usage_list_within(slots, &no_time, &none, 0);
        int whole = usage_list_within(slots, &all_time, &none, 0);

        slots->slots_high = 0;
        child_end(pid);
        assert_int_equal(ended, -EOVERFLOW);
        assert_int_equal(whole, HELD);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_holds_and_others_see),
                cmocka_unit_test(a_killed_holder_holds_nothing),
                cmocka_unit_test(closing_all_descriptors_does_not_free_it),
                cmocka_unit_test(a_child_does_not_inherit_it),
                cmocka_unit_test(another_file_at_the_path_is_refused),
                cmocka_unit_test(a_link_at_the_path_is_not_followed),
                cmocka_unit_test(descriptors_are_high_and_close_on_exec),
                cmocka_unit_test(a_lock_through_what_is_kept_ends_as_any_other),
                cmocka_unit_test(a_descriptor_that_was_closed_is_asked_for_again),
                cmocka_unit_test(another_file_under_its_number_is_left_alone),
                cmocka_unit_test(a_low_descriptor_is_not_kept),
                cmocka_unit_test(the_living_are_listed_and_the_dead_are_not),
                cmocka_unit_test(a_process_is_known_by_its_pid_and_when_it_started),
                cmocka_unit_test(rubbish_in_a_slot_is_made_printable),
                cmocka_unit_test(a_listing_ends_however_many_locks_there_are),
                cmocka_unit_test(forged_slots_cost_one_walk_over_processes_together),
                cmocka_unit_test(the_living_are_those_whose_byte_is_held),
        };

        return cmocka_run_group_tests(tests, make_file, remove_file);
}
