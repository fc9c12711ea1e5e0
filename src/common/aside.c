/* SPDX-License-Identifier: Apache-2.0 */
#include "common/aside.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GETS_ON_NS UINT64_C(300000000)

static void close_between(unsigned first, unsigned last)
{
        if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
                return;
        for (unsigned most = (unsigned)sysconf(_SC_OPEN_MAX); first <= last && first < most;
             first++)
                close((int)first);
}

/* Listeners, locks and files are the daemon's alone. */
static void close_but(const int *kept, unsigned count)
{
        unsigned from = STDERR_FILENO + 1;

        for (;;) {
                unsigned next = ~0u;

                for (unsigned i = 0; i < count; i++) {
                        if (kept[i] >= (int)from && (unsigned)kept[i] < next)
                                next = (unsigned)kept[i];
                }
                if (next == ~0u)
                        break;
                close_between(from, next - 1);
                from = next + 1;
        }
        close_between(from, ~0u);
}

static void be_child(pid_t parent, const char *name)
{
        static const int handled[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(1);
        prctl(PR_SET_NAME, name);
        for (unsigned i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
                signal(handled[i], SIG_IGN);
}

pid_t aside_fork_with(struct aside *aside, const char *name, const int *kept, unsigned count,
                      uint64_t now_ns)
{
        const pid_t parent = getpid();
        const pid_t child = fork();

        if (child == 0) {
                be_child(parent, name);
                close_but(kept, count);
        }
        if (child > 0)
                *aside = (struct aside){ .child = child, .step_ns = now_ns };
        return child;
}

pid_t aside_fork(struct aside *aside, const char *name, uint64_t now_ns)
{
        return aside_fork_with(aside, name, NULL, 0, now_ns);
}

bool aside_gets_on(const struct aside *aside, uint64_t now_ns)
{
        return !aside->is_ended && now_ns - aside->step_ns < GETS_ON_NS;
}

void aside_end(struct aside *aside)
{
        if (aside->child)
                kill(aside->child, SIGKILL);
        aside->is_ended = true;
}

enum aside_state aside_tend(struct aside *aside, uint32_t steps, uint64_t still_ns, uint64_t now_ns)
{
        int status = 0;

        if (waitpid(aside->child, &status, WNOHANG) != 0) {
                aside->child = 0;
                return status ? ASIDE_CUT : ASIDE_DONE;
        }
        if (steps != aside->steps) {
                aside->steps = steps;
                aside->step_ns = now_ns;
        }
        if (aside->is_ended || now_ns - aside->step_ns < still_ns)
                return ASIDE_RUNS;
        aside_end(aside);
        return ASIDE_STANDS;
}
