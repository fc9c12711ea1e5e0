/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGKILL for the daemon just before the Nth system call by which it changes or tells something.
 *
 *      kill-daemon N PID                of one that runs
 *      kill-daemon N -- COMMAND...      of one that is started
 *
 * What others see of the daemon, files, pages that are mapped around their changes, answers and
 * signals, changes between two such calls at most. Prints "ready PID" when it counts, and when the
 * daemon has ended, by us or otherwise, how many calls there were.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#define CALL_STOP (SIGTRAP | 0x80)

static const long changing[] = {
        SYS_write,
        SYS_pwrite64,
        SYS_writev,
        SYS_sendto,
        SYS_sendmsg,
        SYS_fsync,
        SYS_fdatasync,
        SYS_ftruncate,
        SYS_fallocate,
        SYS_mkdirat,
        SYS_unlinkat,
        SYS_renameat,
        SYS_renameat2,
        SYS_linkat,
        SYS_symlinkat,
        SYS_fchmod,
        SYS_fchmodat,
        SYS_fchown,
        SYS_fchownat,
        SYS_futex,
        SYS_flock,
        SYS_kill,
        SYS_pidfd_send_signal,
        SYS_timerfd_settime,
#ifdef SYS_open /* the older calls, where a machine has them */
        SYS_mkdir,
        SYS_rmdir,
        SYS_unlink,
        SYS_rename,
        SYS_link,
        SYS_symlink,
        SYS_chmod,
        SYS_chown,
#endif
};

static void must(bool is_so, const char *what)
{
        if (is_so)
                return;
        fprintf(stderr, "kill-daemon: %s: %s\n", what, strerror(errno));
        exit(errno == EPERM ? 77 : 1);
}

/* Of the others: files that are made, and pages that others see. */
static bool is_changing(const struct ptrace_syscall_info *info)
{
        const __u64 *argument = info->entry.args;
        long call = (long)info->entry.nr;

        if (call == SYS_openat)
                return argument[2] & O_CREAT;
#ifdef SYS_open
        if (call == SYS_open)
                return argument[1] & O_CREAT;
#endif
        if (call == SYS_mmap)
                return (argument[2] & PROT_WRITE) && (argument[3] & MAP_SHARED);
        for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++) {
                if (changing[i] == call)
                        return true;
        }
        return false;
}

/* Stopped before the first instruction of its program. */
static pid_t start(char **command)
{
        pid_t pid = fork();
        int status;

        must(pid >= 0, "fork");
        if (pid == 0) {
                ptrace(PTRACE_TRACEME, 0, NULL, NULL);
                execv(command[0], command);
                _exit(127);
        }
        must(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "exec");
        must(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0,
             "options");
        return pid;
}

static pid_t stop(pid_t pid)
{
        int status;

        must(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) == 0, "seize");
        must(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0, "interrupt");
        must(waitpid(pid, &status, __WALL) == pid, "wait");
        return pid;
}

/* Whether it stands before such a call now. */
static bool is_at_change(pid_t pid)
{
        struct ptrace_syscall_info info;

        return ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0 &&
               info.op == PTRACE_SYSCALL_INFO_ENTRY && is_changing(&info);
}

/* A signal that is its own is handed on; what stopped it for us is none. */
static int signal_of(int status)
{
        int number = WSTOPSIG(status);

        return number == SIGTRAP || status >> 16 ? 0 : number;
}

static unsigned count_to(pid_t pid, unsigned last)
{
        unsigned count = 0;
        int status, number = 0;

        while (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)number) == 0 &&
               waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
                bool is_call = WSTOPSIG(status) == CALL_STOP;

                number = is_call ? 0 : signal_of(status);
                if (is_call && is_at_change(pid) && ++count == last)
                        kill(pid, SIGKILL);
        }
        return count;
}

int main(int argc, char **argv)
{
        bool is_start = argc > 3 && strcmp(argv[2], "--") == 0;
        unsigned last, count;
        pid_t pid;

        if (argc < 3)
                return 2;
        last = (unsigned)strtoul(argv[1], NULL, 10);
        pid = is_start ? start(argv + 3) : stop((pid_t)strtol(argv[2], NULL, 10));
        printf("ready %d\n", (int)pid);
        fflush(stdout);
        count = count_to(pid, last);
        printf("%u\n", count);
        return 0;
}
