/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which container a process is in is the runtime's word alone: the outermost cgroup that a runtime
 * has named. What a tenant makes below it, however it names it, is never believed.
 */
#include "daemon/base/container.h" /* before cmocka.h: it has a macro fail() */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "kubepods-burstable-pod1f2e3d4c_0000_1111_2222_333344445555.slice"

static struct container container;
static struct error err;

static int read_text(const char *text)
{
        memset(&container, 0xee, sizeof(container));
        memset(&err, 0, sizeof(err));
        return container_read(text, strlen(text), &container, &err);
}

static void expect_path(unsigned line, const char *controllers, const char *path)
{
        const struct container_line *at = &container.line[line];

        assert_int_equal(at->controllers_bytes, strlen(controllers));
        assert_memory_equal(at->controllers, controllers, strlen(controllers));
        assert_int_equal(at->path_bytes, strlen(path));
        assert_memory_equal(at->path, path, strlen(path));
}

static const struct {
        const char *path, *id, *own;
} shapes[] = {
        { "/libpod_parent/libpod-" A, A, "/libpod_parent/libpod-" A },
        { "/machine.slice/libpod-" A ".scope/container", A, "/machine.slice/libpod-" A ".scope" },
        { "/system.slice/web.service/libpod-payload-" A, A,
          "/system.slice/web.service/libpod-payload-" A },
        { "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A ".scope", A,
          "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A ".scope" },
        { "/libpod_parent/" B "/libpod-" A, A, "/libpod_parent/" B "/libpod-" A },
        { "/docker/" A, A, "/docker/" A },
        { "/system.slice/docker-" A ".scope", A, "/system.slice/docker-" A ".scope" },
        { "/my-parent/" A "/init", A, "/my-parent/" A },
        { "/kubepods/burstable/pod1f2e3d4c-0000-1111-2222-333344445555/" A, A,
          "/kubepods/burstable/pod1f2e3d4c-0000-1111-2222-333344445555/" A },
        { "/kubepods.slice/kubepods-burstable.slice/" POD "/cri-containerd-" A ".scope", A,
          "/kubepods.slice/kubepods-burstable.slice/" POD "/cri-containerd-" A ".scope" },
        { "/kubepods.slice/" POD "/crio-" A ".scope", A,
          "/kubepods.slice/" POD "/crio-" A ".scope" },
        { "/system.slice/containerd.service/" POD ":cri-containerd:" A, A,
          "/system.slice/containerd.service/" POD ":cri-containerd:" A },
        { "/default/nerdctl-" A ".scope", A, "/default/nerdctl-" A ".scope" },
        { "/slurm/uid_1000/job_4242/step_0/task_0", "job_4242", "/slurm/uid_1000/job_4242" },
        { "/system.slice/slurmstepd.scope/job_7/step_batch/user/task_0", "job_7",
          "/system.slice/slurmstepd.scope/job_7" },
        /* What the tenant made below its own. */
        { "/docker/" A "/docker/" B, A, "/docker/" A },
        { "/machine.slice/libpod-" A ".scope/libpod-" B ".scope", A,
          "/machine.slice/libpod-" A ".scope" },
        { "/libpod_parent/libpod-" A "/cri-containerd-" B ".scope/x", A,
          "/libpod_parent/libpod-" A },
        { "/docker/" A "/kubelet/kubepods/burstable/podx/" B, A, "/docker/" A },
        { "/slurm/uid_1000/job_1/step_0/job_2/step_0/docker-" B ".scope", "job_1",
          "/slurm/uid_1000/job_1" },
        { "/docker/" A "/slurm/job_2/step_0", A, "/docker/" A },
};

static void the_outermost_container_of_each_runtime_is_found(void **state)
{
        char text[512];

        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
                snprintf(text, sizeof(text), "0::%s\n", shapes[i].path);
                assert_int_equal(read_text(text), 0);
                assert_string_equal(container.id, shapes[i].id);
                assert_int_equal(container.count, 1);
                expect_path(0, "", shapes[i].own);
        }
}

static void what_no_runtime_has_named_is_no_container(void **state)
{
        static const char *const none[] = {
                "/",
                "/user.slice/user-1000.slice/session-3.scope",
                "/system.slice/docker.service",
                "/docker",
                "/docker/" A "a", /* 65 digits */
                "/docker/" A "-" A,
                "/docker/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                "/docker/aaaaaaaaaaaa", /* a short id */
                "/libpod_parent/" A,    /* a pod, with no container of it */
                "/machine.slice/libpod-conmon-" A ".scope",
                "/machine.slice/machine-libpod_pod_" A ".slice",
                "/machine.slice/libpod-" A ".service",
                "/x-libpod-" A ".scope",
                "/system.slice/x:cri-containerd:" A,
                "/job_1/step_0",         /* nothing of Slurm's above it */
                "/slurm/uid_1000/job_1", /* no step */
                "/slurm/uid_1000/job_/step_0",
                "/slurm/uid_1000/job_12345678901/step_0",
                "/slurm/uid_1000/job_1x/step_0",
        };
        char text[512];

        for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
                snprintf(text, sizeof(text), "0::%s\n", none[i]);
                assert_int_equal(read_text(text), -ESRCH);
                assert_non_null(strstr(err.text, "in no container"));
        }
        assert_int_equal(read_text(""), -ESRCH);
}

static void a_path_that_leads_up_is_not_believed(void **state)
{
        static const char *const wrong[] = {
                "0::/../docker/" A "\n",
                "0::/docker/" A "/..\n",
                "0::/docker/" A "/../" B "\n",
                "0::/./docker/" A "\n",
                "0::/docker//" A "\n",
                "0::docker/" A "\n",
                "0::\n",
                "0:/docker/" A "\n",
                "docker\n",
                "0::/docker/" A "\n\n",
                "0::/docker/" A "\n1:cpu\n",
                "0::/docker/" A "/\n",
        };

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                /* A slash at the end is the one that may stand there: the path is as without. */
                int expected = i == 11 ? 0 : -EPROTO;

                assert_int_equal(read_text(wrong[i]), expected);
        }
        assert_int_equal(container_read("0::/docker/a\0/b\n", 16, &container, &err), -EPROTO);
}

static void all_lines_that_name_a_container_name_the_same(void **state)
{
        assert_int_equal(read_text("3:cpu,cpuacct:/docker/" A "\n"
                                   "2:name=systemd:/system.slice/docker-" A ".scope\n"
                                   "0::/docker/" A "/sub\n"),
                         0);
        assert_string_equal(container.id, A);
        assert_int_equal(container.count, 3);
        expect_path(0, "", "/docker/" A);
        expect_path(1, "name=systemd", "/system.slice/docker-" A ".scope");
        expect_path(2, "cpu,cpuacct", "/docker/" A);

        assert_int_equal(read_text("2:memory:/docker/" A "\n0::/docker/" B "\n"), -EPROTO);
        assert_non_null(strstr(err.text, "two containers"));
        assert_int_equal(read_text("2:memory:/docker/" A "\n1:pids:/slurm/job_1/step_0\n"),
                         -EPROTO);
        assert_string_equal(err.text, "its control groups name two containers, " A " and job_1");
}

static void a_line_without_a_container_says_nothing(void **state)
{
        assert_int_equal(read_text("9:name=systemd:/libpod_parent/libpod-" A "\n"
                                   "4:memory:/\n0::/\n"),
                         0);
        assert_string_equal(container.id, A);
        assert_int_equal(container.count, 1);
        expect_path(0, "name=systemd", "/libpod_parent/libpod-" A);
}

static bool may_exit(const char *text)
{
        return container_may_exit(text, strlen(text));
}

/* The kernel then writes "/" for every hierarchy of version 1. */
static void text_of_a_thread_that_may_exit_is_recognised(void **state)
{
        assert_true(may_exit("9:name=systemd:/\n4:memory:/\n0::/docker/" A "\n"));
        assert_true(may_exit("4:memory:/\n0::/"));
        assert_false(may_exit("9:name=systemd:/\n4:memory:/a\n0::/\n"));
        assert_false(may_exit("0::/docker/" A "\n"));
        assert_false(may_exit("0::/\n"));
        assert_false(may_exit(""));
        assert_false(may_exit("4:memory"));
}

static void text_without_end_is_read_to_its_end(void **state)
{
        static char text[65536];
        size_t used = (size_t)snprintf(text, sizeof(text), "0::/docker/" A);

        while (used < sizeof(text) - 80)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "/libpod-" B ".scope");
        assert_int_equal(read_text(text), 0);
        assert_string_equal(container.id, A);
        expect_path(0, "", "/docker/" A);

        used = 0;
        for (unsigned i = 0; i < 100; i++)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "%u:x:/docker/" A "\n",
                                         i);
        assert_int_equal(read_text(text), -EPROTO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_outermost_container_of_each_runtime_is_found),
                cmocka_unit_test(what_no_runtime_has_named_is_no_container),
                cmocka_unit_test(a_path_that_leads_up_is_not_believed),
                cmocka_unit_test(all_lines_that_name_a_container_name_the_same),
                cmocka_unit_test(a_line_without_a_container_says_nothing),
                cmocka_unit_test(text_of_a_thread_that_may_exit_is_recognised),
                cmocka_unit_test(text_without_end_is_read_to_its_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
