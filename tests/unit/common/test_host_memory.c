/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the machine's memory may be pinned: the kernel's own word, and no more than the
 * limits of the cgroup and of all above it leave.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/host_memory.h"

#define GIB (UINT64_C(1) << 30)

static char root[] = "/tmp/host-memory-XXXXXX";
static char proc[PATH_MAX], cgroup[PATH_MAX];

static void make_folders(char *path)
{
        for (char *at = path + 1; (at = strchr(at, '/')); at++) {
                *at = '\0';
                mkdir(path, 0700);
                *at = '/';
        }
}

static void write_file(const char *name, const char *text)
{
        char path[PATH_MAX];
        FILE *file;

        snprintf(path, sizeof(path), "%s/%s", root, name);
        make_folders(path);
        file = fopen(path, "we");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
}

static int setup(void **state)
{
        (void)state;
        strcpy(root, "/tmp/host-memory-XXXXXX");
        if (!mkdtemp(root))
                return -1;
        snprintf(proc, sizeof(proc), "%s/proc", root);
        snprintf(cgroup, sizeof(cgroup), "%s/cgroup", root);
        write_file("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1048576 kB\n"
                                   "MemAvailable:    8388608 kB\n");
        return 0;
}

static int teardown(void **state)
{
        char command[PATH_MAX + 16];

        (void)state;
        snprintf(command, sizeof(command), "rm -rf %s", root);
        return system(command);
}

static struct host_memory read_there(void)
{
        const struct host_memory_place place = { proc, cgroup };

        return host_memory_read(&place);
}

static void expect(uint64_t total_bytes, uint64_t available_bytes)
{
        struct host_memory memory = read_there();

        assert_int_equal(memory.total_bytes, total_bytes);
        assert_int_equal(memory.available_bytes, available_bytes);
}

static void test_without_control_groups_it_is_the_machines(void **state)
{
        (void)state;
        expect(16 * GIB, 8 * GIB);
}

static void test_a_group_without_a_limit_changes_nothing(void **state)
{
        (void)state;
        write_file("proc/self/cgroup", "0::/user.slice/a\n");
        write_file("cgroup/user.slice/a/memory.max", "max\n");
        write_file("cgroup/user.slice/a/memory.current", "12345\n");
        expect(16 * GIB, 8 * GIB);
}

/* Files that were read once and can be dropped count as left. */
static void test_of_a_limit_what_is_used_is_gone_but_for_the_cache(void **state)
{
        (void)state;
        write_file("proc/self/cgroup", "0::/a\n");
        write_file("cgroup/a/memory.max", "4294967296\n");
        write_file("cgroup/a/memory.current", "3221225472\n");
        write_file("cgroup/a/memory.stat", "anon 1\nfile 2147483648\ninactive_file 1073741824\n");
        expect(4 * GIB, 2 * GIB);
}

static void test_the_limit_of_a_group_above_holds_too(void **state)
{
        (void)state;
        write_file("proc/self/cgroup", "0::/pod/container\n");
        write_file("cgroup/pod/container/memory.max", "8589934592\n");
        write_file("cgroup/pod/container/memory.current", "0\n");
        write_file("cgroup/pod/memory.max", "2147483648\n");
        write_file("cgroup/pod/memory.current", "1073741824\n");
        expect(2 * GIB, 1 * GIB);
}

/* One that is larger, and nearly full by others. */
static void test_what_others_use_of_a_larger_group_above_counts(void **state)
{
        (void)state;
        write_file("proc/self/cgroup", "0::/pod/container\n");
        write_file("cgroup/pod/container/memory.max", "2147483648\n");
        write_file("cgroup/pod/container/memory.current", "0\n");
        write_file("cgroup/pod/memory.max", "8589934592\n");
        write_file("cgroup/pod/memory.current", "8589930496\n");
        expect(2 * GIB, 4096);
}

/* A container of its own cgroup namespace: "/" is its group, or the path leads out of it. */
static void test_in_a_namespace_the_limit_is_at_the_mount_point(void **state)
{
        static const char *const paths[] = { "0::/\n", "0::/../other\n" };

        (void)state;
        write_file("cgroup/memory.max", "1073741824\n");
        write_file("cgroup/memory.current", "0\n");
        for (unsigned i = 0; i < 2; i++) {
                write_file("proc/self/cgroup", paths[i]);
                expect(1 * GIB, 1 * GIB);
        }
}

static void test_version_one_has_other_names(void **state)
{
        (void)state;
        write_file("proc/self/cgroup", "11:cpu:/a\n4:memory:/docker/x\n1:name=systemd:/a\n");
        write_file("cgroup/memory/docker/x/memory.limit_in_bytes", "2147483648\n");
        write_file("cgroup/memory/docker/x/memory.usage_in_bytes", "2147483648\n");
        write_file("cgroup/memory/docker/x/memory.stat", "cache 5\ntotal_inactive_file 1048576\n");
        expect(2 * GIB, 1048576);
}

static void test_where_nothing_can_be_read_there_is_nothing(void **state)
{
        const struct host_memory_place nowhere = { "/none", "/none" };
        struct host_memory memory = host_memory_read(&nowhere);

        (void)state;
        assert_int_equal(memory.total_bytes, 0);
        assert_int_equal(memory.available_bytes, 0);
}

/* A sixteenth is kept free; a session that asks for no number gets half at most. */
static void test_a_part_is_always_left(void **state)
{
        const struct host_memory_place here = { "/proc", "/sys/fs/cgroup" };
        struct host_memory memory = read_there();

        (void)state;
        assert_int_equal(host_memory_spare_of(&memory), 7 * GIB);
        memory.available_bytes = memory.total_bytes / 16;
        assert_int_equal(host_memory_spare_of(&memory), 0);
        memory = host_memory_read(&here);
        assert_true(host_memory_default() <= memory.total_bytes / 2);
        assert_int_equal(host_memory_default() % (UINT64_C(2) << 20), 0);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(test_without_control_groups_it_is_the_machines),
                STORY(test_a_group_without_a_limit_changes_nothing),
                STORY(test_of_a_limit_what_is_used_is_gone_but_for_the_cache),
                STORY(test_the_limit_of_a_group_above_holds_too),
                STORY(test_what_others_use_of_a_larger_group_above_counts),
                STORY(test_in_a_namespace_the_limit_is_at_the_mount_point),
                STORY(test_version_one_has_other_names),
                STORY(test_where_nothing_can_be_read_there_is_nothing),
                STORY(test_a_part_is_always_left),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
