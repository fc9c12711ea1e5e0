/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a pid is: real processes, and what the kernel tells of them.
 */
#include "daemon/processes/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/machine_clock.h"
#include "common/scoped.h"
#include "daemon/processes/victim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct identity_sessions sessions; /* none, but where a story says so */
static char folder[] = "/tmp/aliquot-identity-XXXXXX";

static uint64_t boot_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool read_whole(pid_t pid, struct identity *ret)
{
        scoped_file FILE *maps = NULL;

        if (!identity_begin((uint32_t)pid, ret, &maps))
                return false;
        if (maps)
                assert_true(identity_go_on(ret, maps, &sessions, UINT64_MAX));
        return true;
}

/* Its child waits until it is ended, or a story failed, and has done `before` when this returns. */
static pid_t start(void (*before)(void))
{
        int ready[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
                if (before)
                        before();
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (write(ready[1], "x", 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        return pid;
}

static void end(pid_t pid)
{
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

static void map_file(const char *name)
{
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        fd = open(path, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || ftruncate(fd, 4096) < 0 ||
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
                _exit(1);
        close(fd);
}

static void map_slots(void)
{
        map_file("slots");
}

static void map_others(void)
{
        map_file("limits");
        map_file("robots");
}

static void a_process_is_known_by_what_the_kernel_says(void **state)
{
        pid_t pid = start(NULL);
        int held = identity_hold((uint32_t)pid), ours = identity_hold((uint32_t)getpid());
        struct identity who;

        assert_true(read_whole(pid, &who));
        assert_int_equal(who.pid, pid);
        assert_int_equal(who.inner_pid, pid);
        assert_int_equal(who.uid, getuid());
        assert_true(who.start_ticks > 0 && who.pid_ns > 0 && who.has_maps);
        assert_int_equal(who.rank, IDENTITY_OF_NONE);
        assert_true(identity_is_same(held, &who));
        assert_false(identity_is_same(ours, &who) && who.pidfd_inode);
        who.pidfd_inode = 0; /* an old kernel's */
        assert_true(identity_is_same(held, &who));
        end(pid);
        assert_false(identity_is_same(held, &who));
        assert_false(read_whole(pid, &who));
        close(held);
        close(ours);
}

static struct identity_file slots_of_folder(void)
{
        char path[64];
        struct stat st;

        snprintf(path, sizeof(path), "%s/slots", folder);
        assert_int_equal(stat(path, &st), 0);
        return (struct identity_file){ st.st_dev, st.st_ino };
}

static void unlink_slots(void)
{
        char path[64];

        snprintf(path, sizeof(path), "%s/slots", folder);
        unlink(path);
        sessions.count = 0;
}

/* They are a session's, and of this user. */
static struct identity_file know_slots(uint32_t owner_uid)
{
        const struct identity_file file = slots_of_folder();

        sessions.session[0] = (struct identity_session){ file, owner_uid };
        sessions.count = 1;
        return file;
}

static void slots_are_named_by_device_and_inode(void **state)
{
        pid_t pid = start(map_slots);
        const struct identity_file file = know_slots(getuid());
        struct identity who;

        assert_true(read_whole(pid, &who));
        assert_int_equal(who.rank, IDENTITY_OF_ITS_USERS);
        assert_int_equal(who.slots.inode, file.inode);
        assert_int_equal(who.slots.device, file.device);
        know_slots(getuid() + 1);
        assert_true(read_whole(pid, &who));
        assert_int_equal(who.rank, IDENTITY_OF_ANOTHERS);
        sessions.count = 0;
        assert_true(read_whole(pid, &who));
        assert_int_equal(who.rank, IDENTITY_OF_NONE);
        end(pid);
        unlink_slots();
}

static void other_files_are_no_slots(void **state)
{
        pid_t pid = start(map_others);
        struct identity who;

        assert_true(read_whole(pid, &who));
        assert_int_equal(who.rank, IDENTITY_OF_NONE);
        end(pid);
}

#define DECOYS 9

static void map_decoys_and_slots(void)
{
        char name[16];

        for (unsigned i = 0; i < DECOYS; i++) {
                snprintf(name, sizeof(name), "%u/slots", i);
                map_file(name);
        }
        map_file("renamed");
}

/* Neither the name of a file nor how many others of that name there are tells anything. */
static void a_session_is_found_under_any_name_and_among_any_files(void **state)
{
        char path[64];
        struct stat st;
        struct identity who;
        pid_t pid;

        for (unsigned i = 0; i < DECOYS; i++) {
                snprintf(path, sizeof(path), "%s/%u", folder, i);
                assert_int_equal(mkdir(path, 0700), 0);
        }
        pid = start(map_decoys_and_slots);
        snprintf(path, sizeof(path), "%s/renamed", folder);
        assert_int_equal(stat(path, &st), 0);
        sessions = (struct identity_sessions){ 1, { { { st.st_dev, st.st_ino }, getuid() } } };
        unlink(path);
        assert_true(read_whole(pid, &who));
        assert_int_equal(who.rank, IDENTITY_OF_ITS_USERS);
        end(pid);
        sessions.count = 0;
}

/* What a tenant maps decides how much there is to read, and not how much is read. */
static void a_look_through_mappings_ends_when_its_time_is_used_up(void **state)
{
        pid_t pid = start(map_slots);
        struct identity_file file = slots_of_folder();

        assert_int_equal(identity_has_mapped((uint32_t)pid, &file, UINT64_MAX), 1);
        assert_int_equal(identity_has_mapped((uint32_t)pid, &file, 1), -EAGAIN);
        file.inode++;
        assert_int_equal(identity_has_mapped((uint32_t)pid, &file, UINT64_MAX), 0);
        end(pid);
        unlink_slots();
}

#define MANY 20000u

static void map_many_and_slots(void)
{
        map_slots();
        for (unsigned i = 0; i < MANY; i++) {
                if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0) == MAP_FAILED)
                        _exit(1);
        }
}

/* Each part has its bound, and what the parts tell is what one look without a bound tells. */
static void mappings_are_read_in_parts_that_go_on(void **state)
{
        pid_t pid = start(map_many_and_slots);
        const struct identity_file file = know_slots(getuid());
        struct identity who;
        unsigned parts = 1;
        FILE *maps;

        assert_true(identity_begin((uint32_t)pid, &who, &maps));
        assert_true(who.is_partial && who.has_maps && maps);
        assert_false(identity_go_on(&who, maps, &sessions, 1));
        assert_true(who.is_partial && who.rank == IDENTITY_OF_NONE);
        while (!identity_go_on(&who, maps, &sessions, clock_thread_ns() + 100000)) {
                assert_true(who.is_partial);
                parts++;
        }
        assert_false(who.is_partial);
        assert_true(parts > 1);
        assert_int_equal(who.rank, IDENTITY_OF_ITS_USERS);
        assert_int_equal(who.slots.inode, file.inode);
        fclose(maps);
        end(pid);
        unlink_slots();
}

static void *wait_for_ever(void *context)
{
        for (;;)
                pause();
        return NULL;
}

/* What it would hide: /proc/PID/maps is then empty. */
static void end_the_first_thread(void)
{
        pthread_t thread;

        map_slots();
        pthread_create(&thread, NULL, wait_for_ever, NULL);
}

static void a_process_whose_first_thread_has_ended_hides_nothing(void **state)
{
        struct timespec moment = { .tv_nsec = 10000000 };
        struct identity who = { 0 };
        char path[64], line[64] = "";
        pid_t pid = fork();

        if (pid == 0) {
                end_the_first_thread();
                pthread_exit(NULL);
        }
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        for (unsigned i = 0; i < 1000 && !strstr(line, ") Z"); i++) {
                FILE *file = fopen(path, "re");

                assert_non_null(file);
                assert_non_null(fgets(line, sizeof(line), file));
                fclose(file);
                nanosleep(&moment, NULL);
        }
        know_slots(getuid());
        assert_true(read_whole(pid, &who));
        assert_true(who.has_maps);
        assert_false(who.is_exiting);
        assert_int_equal(who.rank, IDENTITY_OF_ITS_USERS);
        end(pid);
        unlink_slots();
}

/* Its mappings are gone, and what it held of a GPU may not be. */
static void a_process_that_has_ended_is_on_its_way_out(void **state)
{
        pid_t pid = start(NULL);
        siginfo_t info;
        struct identity who;

        assert_true(read_whole(pid, &who));
        assert_false(who.is_exiting);
        kill(pid, SIGKILL);
        waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
        assert_true(read_whole(pid, &who));
        assert_true(who.is_exiting);
        assert_false(who.has_maps);
        waitpid(pid, NULL, 0);
}

static void who_came_after_the_look_was_not_there(void **state)
{
        uint64_t before_ns = boot_ns();
        struct timespec two_ticks = { .tv_nsec = 30000000 };
        struct identity who;
        pid_t pid;

        nanosleep(&two_ticks, NULL);
        pid = start(NULL);
        assert_true(read_whole(pid, &who));
        assert_false(identity_was_there(&who, before_ns));
        nanosleep(&two_ticks, NULL);
        assert_true(identity_was_there(&who, boot_ns()));
        end(pid);
}

static void a_descriptor_tells_when_its_process_is_gone(void **state)
{
        pid_t pid = start(NULL);
        int held = identity_hold((uint32_t)pid);

        assert_true(held >= 0);
        assert_true(identity_is_there(held));
        end(pid);
        assert_false(identity_is_there(held));
        assert_true(identity_hold((uint32_t)pid) < 0);
        close(held);
        assert_true(identity_hold(0) < 0);
        assert_true(identity_hold(UINT32_MAX) < 0);
}

/* The pid is another's by now: here, as if by a start that is not its. */
static void a_signal_goes_to_the_process_that_was_meant_or_to_none(void **state)
{
        pid_t pid = start(NULL);
        struct identity who, other;
        int status;

        assert_true(read_whole(pid, &who));
        other = who;
        other.start_ticks--;
        other.pidfd_inode += other.pidfd_inode != 0;
        assert_false(victim_signal_identity(&other, SIGKILL));
        assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
        assert_true(victim_signal_identity(&who, SIGTERM));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        assert_false(victim_signal_identity(&who, SIGTERM));
}

#define TENANT 64001

static void map_slots_as_a_tenant(void)
{
        map_slots();
        if (setuid(TENANT) < 0)
                _exit(1);
}

/* As the daemon's searches are, which run as its user. */
static unsigned signal_all_but_children(uint32_t owner_uid)
{
        const struct identity_file file = slots_of_folder();
        const struct liveness_file slots = { NULL, file.device, file.inode };
        struct victim_walk walk = { .spared = (uint32_t)getpid() };
        const struct victim_order order = {
                .slots = &slots,
                .owner_uid = owner_uid,
                .number = SIGKILL,
                .max_ns = UINT64_C(10000000000),
                .walk = &walk,
        };

        return victim_signal_all(&order);
}

static void an_orphan_that_the_daemon_was_given_is_not_spared(void **state)
{
        pid_t pid, search;
        int status;

        if (getuid() != 0)
                skip();
        pid = start(map_slots_as_a_tenant);
        search = start(map_slots);
        assert_int_equal(signal_all_but_children(TENANT), 1);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_equal(signal_all_but_children(0), 0);
        end(search);
        unlink_slots();
}

static void a_cgroup_is_in_another_by_whole_names(void **state)
{
        struct identity who = { .cgroup = "/kubepods.slice/pod1" };

        assert_true(identity_is_in(&who, "/kubepods.slice"));
        assert_true(identity_is_in(&who, "/kubepods.slice/"));
        assert_true(identity_is_in(&who, "/other, /kubepods.slice/pod1"));
        assert_true(identity_is_in(&who, "/"));
        assert_false(identity_is_in(&who, ""));
        assert_false(identity_is_in(&who, "/kubepods"));
        assert_false(identity_is_in(&who, "/kubepods.slice/pod"));
        assert_false(identity_is_in(&who, "/kubepods.slice/pod1/x"));
        assert_false(identity_is_in(&who, "/a,/b"));
        strcpy(who.cgroup, "");
        assert_false(identity_is_in(&who, "/"));
        strcpy(who.cgroup, "/../elsewhere");
        assert_false(identity_is_in(&who, "/"));
        who.is_cgroup_hidden = true;
        assert_true(identity_is_in(&who, "/kubepods.slice"));
        assert_false(identity_is_in(&who, ""));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_process_is_known_by_what_the_kernel_says),
                cmocka_unit_test(slots_are_named_by_device_and_inode),
                cmocka_unit_test(other_files_are_no_slots),
                cmocka_unit_test(a_session_is_found_under_any_name_and_among_any_files),
                cmocka_unit_test(a_look_through_mappings_ends_when_its_time_is_used_up),
                cmocka_unit_test(mappings_are_read_in_parts_that_go_on),
                cmocka_unit_test(a_process_whose_first_thread_has_ended_hides_nothing),
                cmocka_unit_test(a_process_that_has_ended_is_on_its_way_out),
                cmocka_unit_test(who_came_after_the_look_was_not_there),
                cmocka_unit_test(a_descriptor_tells_when_its_process_is_gone),
                cmocka_unit_test(a_signal_goes_to_the_process_that_was_meant_or_to_none),
                cmocka_unit_test(an_orphan_that_the_daemon_was_given_is_not_spared),
                cmocka_unit_test(a_cgroup_is_in_another_by_whole_names),
        };
        char command[64];
        int failed;

        if (!mkdtemp(folder))
                return 1;
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        snprintf(command, sizeof(command), "rm -rf %s", folder);
        return system(command) == 0 ? failed : 1;
}
