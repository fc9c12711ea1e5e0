/* SPDX-License-Identifier: Apache-2.0 */
#include "common/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/machine_clock.h"
#include "common/scoped.h"

#ifndef SYS_close_range /* the oldest supported kernel headers lack it */
#define SYS_close_range 436
#endif

/* aside_gets_on() is true for this long after a step. */
#define GETS_ON_NS UINT64_C(300000000)
/* How long aside_ask() waits for a killed child. SIGKILL takes microseconds, if it can end the
 * child at all. */
#define DEATH_NS UINT64_C(100000000)
#define NS_A_MS UINT64_C(1000000)

/* Closes the descriptors `first` to `last`. */
static void close_between(unsigned first, unsigned last)
{
        if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
                return;
        for (unsigned most = (unsigned)sysconf(_SC_OPEN_MAX); first <= last && first < most;
             first++)
                close((int)first);
}

/* Closes all descriptors except the standard ones and those in `kept`: the child must not keep the
 * daemon's listeners, locks and files. */
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

/* Waits until `fd` can be read, or for `max_ns`. Returns as poll(); 0: the time is over. A hangup
 * counts as readable. */
static int wait_for(int fd, uint64_t max_ns)
{
        const uint64_t until_ns = clock_machine_ns() + max_ns;
        struct pollfd answer = { .fd = fd, .events = POLLIN };
        uint64_t now_ns;
        int rc;

        do {
                now_ns = clock_machine_ns();
                if (now_ns >= until_ns)
                        return 0;
                rc = poll(&answer, 1, (int)((until_ns - now_ns) / NS_A_MS) + 1);
        } while (rc == 0 || (rc < 0 && errno == EINTR));
        return rc;
}

static _Noreturn void answer_to(int fd, const struct aside_question *question)
{
        uint8_t answer;

        /* If no signal can end this child, its standard descriptors would keep a pipe open whose
         * reader waits for its end. */
        for (int i = 0; i <= STDERR_FILENO; i++) {
                if (i != fd)
                        close(i);
        }
        answer = question->work(question->context);
        _exit(write(fd, &answer, 1) == 1 ? 0 : 1);
}

int aside_ask(const struct aside_question *question, uint64_t max_ns)
{
        scoped_fd int from = -1;
        struct aside aside = { 0 };
        bool is_over = true;
        int pair[2], rc;
        uint8_t answer;
        pid_t child;

        if (pipe2(pair, O_CLOEXEC) < 0)
                return -errno;
        from = pair[0];
        child = aside_fork_with(&aside, question->name, &pair[1], 1, 0);
        rc = child < 0 ? -errno : -EIO;
        if (child == 0)
                answer_to(pair[1], question);
        close(pair[1]);
        if (child < 0)
                return rc;
        if (wait_for(from, max_ns) <= 0) {
                aside_end(&aside);
                is_over = wait_for(from, DEATH_NS) > 0;
                rc = -ETIME;
        } else if (read(from, &answer, 1) == 1) {
                rc = answer;
        }
        /* If no signal can end the child, it remains a child of this process until this
         * process ends. */
        waitpid(child, NULL, is_over ? 0 : WNOHANG);
        return rc;
}
