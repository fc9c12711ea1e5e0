/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/child.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "common/text.h"

void child_die_with(pid_t parent)
{
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* the parent died before prctl() */
                _exit(STATUS_CANNOT_RUN);
}

int child_replace(const char *path, char **argv, struct error *err)
{
        execv(path, argv);
        if (errno == ENOEXEC) { /* a script without "#!" */
                size_t count = 0;
                char **words;

                while (argv[count])
                        count++;
                words = calloc(count + 2, sizeof(*words));
                if (words) {
                        words[0] = (char *)"/bin/sh";
                        words[1] = (char *)path;
                        memcpy(words + 2, argv + 1, count * sizeof(*words));
                        execv(words[0], words);
                        free(words);
                }
        }
        fail(err, -errno, "%s cannot be executed: %m", text_shown(path));
        return err->code == -ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
}

/* Blocks all signals that child_wait() takes from the queue: all except faults of this process. */
static void block_all(sigset_t *ret_before)
{
        static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };
        sigset_t all;

        sigfillset(&all);
        for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
                sigdelset(&all, faults[i]);
        sigprocmask(SIG_BLOCK, &all, ret_before);
}

/* The signal state that the program gets: the one with which the command was started. */
struct inherited {
        sigset_t mask;
        void (*on_child)(int);
        pid_t parent;
};

static _Noreturn void become_child(const char *path, char **argv, const struct inherited *inherited)
{
        struct error err;
        int status;

        child_die_with(inherited->parent);
        signal(SIGCHLD, inherited->on_child);
        sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
        status = child_replace(path, argv, &err);
        command_fail("run", status, &err);
        _exit(status);
}

/* Reaps all children that ended or stopped. Returns true if the program is among those that
 * ended. */
static bool reap_children(pid_t program, int *ret_status)
{
        bool has_ended = false;
        int status;
        pid_t pid;

        /* As the first process of a container this process inherits orphans, so it waits for any
         * child. */
        while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
                if (pid != program)
                        continue;
                if (WIFSTOPPED(status)) {
                        kill(getpid(), SIGSTOP);
                } else {
                        *ret_status = status;
                        has_ended = true;
                }
        }
        return has_ended;
}

/* Returns whether to forward a signal to the program. A signal from the terminal has already
 * reached the program, which is in the same job. */
static bool is_to_forward(const siginfo_t *info, pid_t program)
{
        return info->si_signo != SIGCHLD && info->si_code <= 0 && info->si_pid != program;
}

int child_wait(const char *path, char **argv, struct error *err)
{
        struct inherited before;
        int status = 0;
        sigset_t all;
        pid_t program;

        block_all(&before.mask);
        before.on_child = signal(SIGCHLD, SIG_DFL);
        before.parent = getpid();
        program = fork();
        if (program < 0) {
                int rc = fail(err, -errno, "fork: %m");

                sigprocmask(SIG_SETMASK, &before.mask, NULL);
                return rc;
        }
        if (program == 0)
                become_child(path, argv, &before);
        sigfillset(&all);
        while (!reap_children(program, &status)) {
                siginfo_t info;

                if (sigwaitinfo(&all, &info) > 0 && is_to_forward(&info, program))
                        kill(program, info.si_signo);
        }
        return status;
}

int child_end_alike(int wait_status)
{
        static const struct rlimit no_core = { 0, 0 };
        int number = WTERMSIG(wait_status);
        sigset_t one;

        if (WIFEXITED(wait_status))
                return WEXITSTATUS(wait_status);
        /* The program may have written a core file; this process must not write another one. */
        setrlimit(RLIMIT_CORE, &no_core);
        signal(number, SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, number);
        kill(getpid(), number);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        return 128 + number; /* the first process of a container cannot die by a signal */
}
