/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See tracer.h. x86-64 only: the program is not built elsewhere.
 */
#include "tracer.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "double.h"

extern char __executable_start, etext;

static struct {
        uint64_t from, to;
} also;

static bool is_ours(uint64_t pc)
{
        return (pc >= (uintptr_t)&__executable_start && pc < (uintptr_t)&etext) ||
               (pc >= also.from && pc < also.to);
}

void traced_also(const char *object)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[512];

        CHECK(maps);
        while (fgets(line, sizeof(line), maps)) {
                line[strcspn(line, "\n")] = '\0';
                const char *path = strchr(line, '/');

                if (!path || !strstr(line, " r-xp ") || !strstr(path, object))
                        continue;
                CHECK(sscanf(line, "%" SCNx64 "-%" SCNx64, &also.from, &also.to) == 2);
        }
        fclose(maps);
        CHECK(also.to > also.from);
}

static uint64_t word_at(pid_t pid, uint64_t address)
{
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, pid, address, NULL);

        CHECK(errno == 0);
        return (uint64_t)word;
}

/* Waits for the next stop. The child stops itself when it has returned: that is the end. */
static void wait_stop(struct traced *child)
{
        struct user_regs_struct regs;
        int status;

        CHECK(waitpid(child->pid, &status, 0) == child->pid);
        CHECK(WIFSTOPPED(status));
        if (WSTOPSIG(status) == SIGSTOP)
                child->has_ended = true;
        else
                CHECK(WSTOPSIG(status) == SIGTRAP);
        CHECK(ptrace(PTRACE_GETREGS, child->pid, NULL, &regs) == 0);
        child->pc = regs.rip;
}

/* Runs to a place in our text. False: the function returned before. */
static bool run_to(struct traced *child, uint64_t pc)
{
        uint64_t text = word_at(child->pid, pc);
        struct user_regs_struct regs;

        CHECK(ptrace(PTRACE_POKETEXT, child->pid, pc, (text & ~UINT64_C(0xff)) | 0xcc) == 0);
        CHECK(ptrace(PTRACE_CONT, child->pid, NULL, NULL) == 0);
        wait_stop(child);
        CHECK(ptrace(PTRACE_POKETEXT, child->pid, pc, text) == 0);
        if (child->has_ended)
                return false;
        CHECK(child->pc == pc + 1);
        CHECK(ptrace(PTRACE_GETREGS, child->pid, NULL, &regs) == 0);
        regs.rip = child->pc = pc;
        CHECK(ptrace(PTRACE_SETREGS, child->pid, NULL, &regs) == 0);
        return true;
}

/* The child has just entered a function that is not ours: lets it run until it returns. */
static void run_to_return(struct traced *child)
{
        struct user_regs_struct regs;
        uint64_t back;

        CHECK(ptrace(PTRACE_GETREGS, child->pid, NULL, &regs) == 0);
        back = word_at(child->pid, regs.rsp);
        CHECK(is_ours(back));
        run_to(child, back);
}

struct traced traced_start(void (*prepare)(void), void (*act)(void))
{
        struct traced child = { .pid = fork() };
        int status;

        CHECK(child.pid >= 0);
        if (child.pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
                if (prepare)
                        prepare();
                raise(SIGSTOP);
                act();
                raise(SIGSTOP);
                _exit(0);
        }
        CHECK(waitpid(child.pid, &status, 0) == child.pid);
        CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
        CHECK(run_to(&child, (uintptr_t)act));
        return child;
}

bool traced_step(struct traced *child)
{
        if (child->has_ended)
                return false;
        CHECK(ptrace(PTRACE_SINGLESTEP, child->pid, NULL, NULL) == 0);
        wait_stop(child);
        if (!child->has_ended && !is_ours(child->pc))
                run_to_return(child);
        return !child->has_ended;
}

bool traced_run_to(struct traced *child, uint64_t pc, unsigned count)
{
        if (child->pc == pc && --count == 0)
                return true;
        do {
                if (!traced_step(child))
                        return false;
                if (child->pc != pc && !run_to(child, pc))
                        return false;
        } while (--count > 0);
        return true;
}

bool traced_to_swap(struct traced *child)
{
        /* All operations of the ledger go through one swap: it is looked for once, step by step. */
        static uint64_t swap;
        const uint64_t lock_cmpxchg16b = 0xc70f48f0; /* bytes f0 48 0f c7, lowest first */

        if (swap != 0)
                return traced_run_to(child, swap, 1);
        while ((word_at(child->pid, child->pc) & 0xffffffff) != lock_cmpxchg16b)
                if (!traced_step(child))
                        return false;
        swap = child->pc;
        return true;
}

void traced_finish(struct traced *child)
{
        if (child->has_ended)
                return;
        CHECK(ptrace(PTRACE_CONT, child->pid, NULL, NULL) == 0);
        wait_stop(child);
        CHECK(child->has_ended);
}

void traced_kill(struct traced *child)
{
        int status;

        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, &status, 0) == child->pid && !WIFSIGNALED(status))
                ;
        child->has_ended = true;
}

static void path_add(struct path *path, uint64_t pc)
{
        unsigned visit = 1;

        CHECK(path->length < MAX_POINTS);
        for (unsigned i = 0; i < path->length; i++)
                visit += path->at[i].pc == pc;
        path->at[path->length].pc = pc;
        path->at[path->length++].visit = visit;
}

void path_record(struct path *path, struct traced *child)
{
        path->length = 0;
        do
                path_add(path, child->pc);
        while (traced_step(child));
}
