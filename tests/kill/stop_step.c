/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGSTOP or SIGKILL for a process that runs, when one of its threads stands at a certain step.
 *
 *      stop-step PID THREAD CALLS|@ADDRESS INSTRUCTIONS SIGNAL
 *
 * The step: so many system calls from now, or when the thread next comes to that address, and so
 * many instructions after that; THREAD is its name. A thread that does not come so far within ten
 * seconds has its signal where it is. Prints "there" or "elsewhere".
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LATE_SECONDS 10

static volatile sig_atomic_t is_late;

static void must(bool is_so, const char *what)
{
        if (is_so)
                return;
        fprintf(stderr, "stop-step: %s: %s\n", what, strerror(errno));
        exit(errno == EPERM ? 77 : 1);
}

static void be_late(int number)
{
        (void)number;
        is_late = 1;
}

static bool has_name(pid_t pid, const char *task, const char *name)
{
        char path[64], text[32] = "";
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/task/%.12s/comm", (int)pid, task);
        file = fopen(path, "re");
        if (!file)
                return false;
        if (!fgets(text, sizeof(text), file))
                text[0] = '\0';
        fclose(file);
        text[strcspn(text, "\n")] = '\0';
        return strcmp(text, name) == 0;
}

static pid_t find_thread(pid_t pid, const char *name)
{
        char path[32];
        pid_t found = 0;
        DIR *tasks;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        tasks = opendir(path);
        must(tasks, path);
        for (struct dirent *task = readdir(tasks); task && !found; task = readdir(tasks)) {
                if (task->d_name[0] != '.' && has_name(pid, task->d_name, name))
                        found = (pid_t)strtol(task->d_name, NULL, 10);
        }
        closedir(tasks);
        return found;
}

/* The signal that the stop holds up; 0: it is a step, or the stop of the whole process. */
static int signal_of(int status)
{
        int signal = WSTOPSIG(status);
        bool is_event = status >> 16 != 0;

        return is_event || signal == SIGTRAP || signal == (SIGTRAP | 0x80) ? 0 : signal;
}

/* To its next stop of the kind asked for. What is `held`, and what comes meanwhile, it has on the
 * way. False: it takes too long, or is gone. */
static bool step(pid_t thread, int request, int *held)
{
        int status;

        do {
                if (ptrace(request, thread, NULL, (void *)(intptr_t)*held) < 0)
                        return false;
                *held = 0;
                if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status))
                        return false;
                *held = signal_of(status);
        } while (*held);
        return true;
}

/* Each call is stopped at twice, before and after it. */
static void pass_calls(pid_t thread, long count, int *held)
{
        for (long i = 2 * count; i > 0 && !is_late; i--)
                is_late |= !step(thread, PTRACE_SYSCALL, held);
}

/* By a debug register, which is this thread's alone: others pass there as ever. */
#ifdef __x86_64__
static void set_register(pid_t thread, unsigned number, uint64_t value)
{
        size_t at = offsetof(struct user, u_debugreg[0]) + 8 * number;

        if (ptrace(PTRACE_POKEUSER, thread, (void *)at, (void *)(uintptr_t)value) == 0)
                return;
        must(errno != ESRCH, "debug register");
        fprintf(stderr, "stop-step: debug register: %s\n", strerror(errno));
        exit(77);
}

static void run_to(pid_t thread, uint64_t address, int *held)
{
        set_register(thread, 0, address);
        set_register(thread, 7, 1);
        is_late |= !step(thread, PTRACE_CONT, held);
        if (is_late) { /* it runs, and cannot be told so */
                ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
                waitpid(thread, &(int){ 0 }, __WALL);
        }
        set_register(thread, 7, 0);
}
#else
static void run_to(pid_t thread, uint64_t address, int *held)
{
        errno = EPERM;
        must(false, "debug registers of this architecture");
}
#endif

int main(int argc, char **argv)
{
        const struct sigaction late = { .sa_handler = be_late };
        pid_t pid, thread;
        int held, status;

        if (argc != 6)
                return 2;
        pid = (pid_t)strtol(argv[1], NULL, 10);
        thread = find_thread(pid, argv[2]);
        must(thread, "no such thread");
        sigaction(SIGALRM, &late, NULL);
        must(ptrace(PTRACE_SEIZE, thread, NULL, PTRACE_O_TRACESYSGOOD) == 0, "seize");
        alarm(LATE_SECONDS);
        must(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0, "interrupt");
        must(waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status), "wait");
        held = signal_of(status);
        if (argv[3][0] == '@')
                run_to(thread, strtoull(argv[3] + 1, NULL, 16), &held);
        else
                pass_calls(thread, strtol(argv[3], NULL, 10), &held);
        for (long i = strtol(argv[4], NULL, 10); i > 0 && !is_late; i--)
                is_late |= !step(thread, PTRACE_SINGLESTEP, &held);
        must(kill(pid, (int)strtol(argv[5], NULL, 10)) == 0, "kill");
        ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)held);
        puts(is_late ? "elsewhere" : "there");
        return 0;
}
