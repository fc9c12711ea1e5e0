/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of our own for work that others can make wait.
 *
 * What /proc shows of a process takes as long as that process makes it take: the kernel waits for a
 * lock that a program holds while it faults on a page of a file system in user space, or closes a
 * file of one in execve(), and only a fatal signal ends that wait (Linux 6.18). So neither the
 * daemon nor the command does such work itself. It forks a child that does, looks whether the child
 * gets on, and ends it when it stands still.
 *
 *      if (aside_fork(&aside, "aliquot-hunt", now_ns) == 0) { work; steps rise; _exit(0); }
 *      aside_tend(&aside, steps, still_ns, now_ns)     // until ASIDE_DONE or ASIDE_CUT
 *
 *      answer = aside_ask(&question, most_ns)          // for a caller who may wait that long
 *
 * One thread at a time. The child ends with the thread that forked it.
 */
#ifndef ALIQUOT_COMMON_ASIDE_H
#define ALIQUOT_COMMON_ASIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A forked child; all zeroes: there is none. */
struct aside {
        pid_t child;
        uint32_t steps;
        uint64_t step_ns; /* they last rose */
        bool is_ended;    /* by us: it is waited for as long as the kernel needs */
};

enum aside_state {
        ASIDE_RUNS,
        ASIDE_STANDS, /* no step for so long: it was just ended */
        ASIDE_DONE,   /* by itself, with 0. From here on there is no child */
        ASIDE_CUT     /* in any other way; likewise */
};

/* As fork(). The child has none of our files but the standard ones, none of our signal handlers,
 * and one thread. */
pid_t aside_fork(struct aside *aside, const char *name, uint64_t now_ns);

/* The same, and the child has these descriptors; -1: none. */
pid_t aside_fork_with(struct aside *aside, const char *name, const int *kept, unsigned count,
                      uint64_t now_ns);

/* `steps`: what the child counts, in memory that it shares with us. */
enum aside_state aside_tend(struct aside *aside, uint32_t steps, uint64_t still_ns,
                            uint64_t now_ns);

/* Whether it has made a step lately: one that waits takes no processor. */
bool aside_gets_on(const struct aside *aside, uint64_t now_ns);

/* It does nothing more of what it does from here on, but may not be gone yet. */
void aside_end(struct aside *aside);

struct aside_question {
        const char *name;               /* of the child */
        uint8_t (*work)(void *context); /* in the child, which has no file of ours at all */
        void *context;
};

/* Forks a child and returns what `work` returns there; -ETIME: the child was ended after `most_ns`;
 * any other negative errno: it could not be forked, or died. */
int aside_ask(const struct aside_question *question, uint64_t most_ns);

#endif
