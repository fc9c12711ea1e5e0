/* SPDX-License-Identifier: Apache-2.0 */
/*
 * without CALL=ERRNO... -- COMMAND...: runs it as on a kernel that lacks these system calls, or
 * under a filter that bars them: each fails with that number. `peerpidfd` is the option
 * SO_PEERPIDFD of getsockopt().
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLED_WRONG 100
#define STEPS_MOST 64u
#define PEERPIDFD 77

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, steps) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (steps))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))

static const struct {
        const char *name;
        unsigned number;
} calls[] = {
        { "pidfd_open", SYS_pidfd_open },
        { "pidfd_send_signal", SYS_pidfd_send_signal },
        { "open_tree", SYS_open_tree },
        { "mount_setattr", SYS_mount_setattr },
};

static struct sock_filter steps[STEPS_MOST];
static unsigned short count;

static void add(const struct sock_filter *from, unsigned short number)
{
        if (count + number > STEPS_MOST)
                exit(CALLED_WRONG);
        memcpy(steps + count, from, number * sizeof(*from));
        count = (unsigned short)(count + number);
}

static int bar(const char *name, unsigned code)
{
        const unsigned fails = SECCOMP_RET_ERRNO | (code & SECCOMP_RET_DATA);

        if (strcmp(name, "peerpidfd") == 0) {
                const struct sock_filter option[] = { LOAD(nr), SKIP_UNLESS(SYS_getsockopt, 3),
                                                      LOAD(args[2]), SKIP_UNLESS(PEERPIDFD, 1),
                                                      ANSWER(fails) };

                add(option, sizeof(option) / sizeof(option[0]));
                return 0;
        }
        for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
                const struct sock_filter call[] = { LOAD(nr), SKIP_UNLESS(calls[i].number, 1),
                                                    ANSWER(fails) };

                if (strcmp(name, calls[i].name) != 0)
                        continue;
                add(call, sizeof(call) / sizeof(call[0]));
                return 0;
        }
        return -1;
}

int main(int argc, char **argv)
{
        const struct sock_filter rest = ANSWER(SECCOMP_RET_ALLOW);
        struct sock_fprog program = { .filter = steps };
        int at = 1;

        for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
                char *equals = strchr(argv[at], '=');

                if (!equals)
                        return CALLED_WRONG;
                *equals = '\0';
                if (bar(argv[at], (unsigned)strtoul(equals + 1, NULL, 10)) < 0)
                        return CALLED_WRONG;
        }
        add(&rest, 1);
        program.len = count;
        if (at + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
                perror("without");
                return CALLED_WRONG;
        }
        execvp(argv[at + 1], argv + at + 1);
        perror(argv[at + 1]);
        return CALLED_WRONG;
}
