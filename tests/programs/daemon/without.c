/* SPDX-License-Identifier: Apache-2.0 */
/*
 * without CALL=ERRNO... -- COMMAND...: runs it as on a kernel that lacks these system calls, or
 * under a filter that bars them: each fails with that number. A call of which one argument is
 * barred, and nothing else, is named by that argument: peerpidfd (of getsockopt), F_OFD_GETLK (of
 * fcntl), MADV_WIPEONFORK (of madvise).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLED_WRONG 100
#define STEPS_MAX 256u
#define PEERPIDFD 77
#define WHOLE 0
#define ARGUMENT(number) (unsigned)offsetof(struct seccomp_data, args[number])

/* Headers older than Linux 5.16 lack these names. */
#define CLOSE_RANGE 436
#define OPENAT2 437
#define FACCESSAT2 439
#define FUTEX_WAITV 449

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define SKIP_UNLESS(value, steps) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (steps))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))

static const struct barrable {
        const char *name;
        unsigned number;
        unsigned argument; /* that is barred with this value; WHOLE: all calls are */
        unsigned value;
} calls[] = {
        { "peerpidfd", SYS_getsockopt, ARGUMENT(2), PEERPIDFD },
        { "F_OFD_GETLK", SYS_fcntl, ARGUMENT(1), F_OFD_GETLK },
        { "MADV_WIPEONFORK", SYS_madvise, ARGUMENT(2), MADV_WIPEONFORK },
        { "clone3", SYS_clone3, WHOLE, 0 },
        { "close_range", CLOSE_RANGE, WHOLE, 0 },
        { "faccessat2", FACCESSAT2, WHOLE, 0 },
        { "futex_waitv", FUTEX_WAITV, WHOLE, 0 },
        { "getrandom", SYS_getrandom, WHOLE, 0 },
        { "io_uring_setup", SYS_io_uring_setup, WHOLE, 0 },
        { "membarrier", SYS_membarrier, WHOLE, 0 },
        { "memfd_create", SYS_memfd_create, WHOLE, 0 },
        { "mount_setattr", SYS_mount_setattr, WHOLE, 0 },
        { "open_tree", SYS_open_tree, WHOLE, 0 },
        { "openat2", OPENAT2, WHOLE, 0 },
        { "pidfd_open", SYS_pidfd_open, WHOLE, 0 },
        { "pidfd_send_signal", SYS_pidfd_send_signal, WHOLE, 0 },
        { "process_vm_readv", SYS_process_vm_readv, WHOLE, 0 },
        { "ptrace", SYS_ptrace, WHOLE, 0 },
        { "renameat2", SYS_renameat2, WHOLE, 0 },
        { "sched_getaffinity", SYS_sched_getaffinity, WHOLE, 0 },
        { "statx", SYS_statx, WHOLE, 0 },
        { "userfaultfd", SYS_userfaultfd, WHOLE, 0 },
};

static struct sock_filter steps[STEPS_MAX];
static unsigned short count;

static void add(const struct sock_filter *from, unsigned short number)
{
        if (count + number > STEPS_MAX)
                exit(CALLED_WRONG);
        memcpy(steps + count, from, number * sizeof(*from));
        count = (unsigned short)(count + number);
}

static void bar(const struct barrable *call, unsigned code)
{
        const unsigned nr = offsetof(struct seccomp_data, nr);
        const struct sock_filter whole[] = { LOAD(nr), SKIP_UNLESS(call->number, 1), ANSWER(code) };
        const struct sock_filter by_value[] = { LOAD(nr), SKIP_UNLESS(call->number, 3),
                                                LOAD(call->argument), SKIP_UNLESS(call->value, 1),
                                                ANSWER(code) };

        if (call->argument == WHOLE)
                add(whole, sizeof(whole) / sizeof(whole[0]));
        else
                add(by_value, sizeof(by_value) / sizeof(by_value[0]));
}

static int bar_named(const char *name, unsigned code)
{
        for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
                if (strcmp(name, calls[i].name) != 0)
                        continue;
                bar(&calls[i], SECCOMP_RET_ERRNO | (code & SECCOMP_RET_DATA));
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
                if (bar_named(argv[at], (unsigned)strtoul(equals + 1, NULL, 10)) < 0)
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
