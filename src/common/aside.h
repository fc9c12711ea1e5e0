/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs work that other processes can block in a forked child, which the caller can kill.
 *
 * Reading /proc of another process can take as long as that process chooses. The kernel waits for a
 * lock that a program holds while it faults on a page of a FUSE file, or closes a FUSE file in
 * execve(), and only a fatal signal ends that wait (Linux 6.18). So neither the daemon nor the
 * command does such work itself. It forks a child, checks that the child makes progress, and kills
 * the child when its step counter no longer rises.
 *
 *      if (aside_fork(&aside, "aliquot-hunt", now_ns) == 0) { work; steps rise; _exit(0); }
 *      aside_tend(&aside, steps, still_ns, now_ns)     // repeat until ASIDE_DONE or ASIDE_CUT
 *
 *      answer = aside_ask(&question, max_ns)          // for a caller that may wait up to max_ns
 *
 * Only one thread may use a `struct aside` at a time. The child ends with the thread that forked
 * it.
 */
#ifndef ALIQUOT_COMMON_ASIDE_H
#define ALIQUOT_COMMON_ASIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A forked child; all zeroes: there is none. */
struct aside {
        pid_t child;
        uint32_t steps;   /* the child's step counter when aside_tend() last read it */
        uint64_t step_ns; /* when `steps` last changed */
        bool is_ended;    /* the child was killed, which may take the kernel some time */
};

enum aside_state {
        ASIDE_RUNS,   /* the child runs, or was killed and has not ended yet */
        ASIDE_STANDS, /* the child made no step for `still_ns` and was just killed */
        ASIDE_DONE,   /* the child exited with status 0 */
        ASIDE_CUT     /* the child ended in any other way */
};

/* Forks a child named `name`; returns as fork(). The child keeps only the standard descriptors and
 * the calling thread, ignores SIGTERM, SIGINT, SIGHUP and SIGUSR1, and gets SIGKILL when the
 * calling thread ends. */
pid_t aside_fork(struct aside *aside, const char *name, uint64_t now_ns);

/* As aside_fork(), but the child also keeps the `count` descriptors in `kept`; -1 is ignored. */
pid_t aside_fork_with(struct aside *aside, const char *name, const int *kept, unsigned count,
                      uint64_t now_ns);

/* Checks the child, and kills it if its counter has not changed for `still_ns`. `steps` is the
 * child's step counter, in memory that it shares with the caller. */
enum aside_state aside_tend(struct aside *aside, uint32_t steps, uint64_t still_ns,
                            uint64_t now_ns);

/* Whether the child has made a step in the last 300 ms. If not, it is blocked and uses
 * no processor. */
bool aside_gets_on(const struct aside *aside, uint64_t now_ns);

/* Kills the child. It does no more work, but the kernel may take some time to remove it. */
void aside_end(struct aside *aside);

/* What aside_ask() runs in the child. */
struct aside_question {
        const char *name;               /* name of the child */
        uint8_t (*work)(void *context); /* runs in the child, without the caller's descriptors */
        void *context;                  /* passed to `work` */
};

/* Forks a child that runs question->work, and returns its result. -ETIME: the child was killed
 * after `max_ns`. Any other negative errno: the child could not be forked, or died. */
int aside_ask(const struct aside_question *question, uint64_t max_ns);

#endif
