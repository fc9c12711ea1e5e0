/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs work that other processes can block in a forked child, which the caller can kill.
 *
 * Reading /proc of another process can take as long as that process chooses: the kernel waits for a
 * lock that a program holds while it faults on a page of a FUSE file, or closes a FUSE file in
 * execve(), and only a fatal signal ends that wait (Linux 6.18). So neither the daemon nor the
 * command does such work itself. It forks a child, checks that the child makes progress, and kills
 * it when it stands still.
 *
 *      if (aside_fork(&aside, "aliquot-hunt", now_ns) == 0) { work; steps rise; _exit(0); }
 *      aside_tend(&aside, steps, still_ns, now_ns)     // until ASIDE_DONE or ASIDE_CUT
 *
 *      answer = aside_ask(&question, most_ns)          // for a caller that may wait that long
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
        uint64_t step_ns; /* when `steps` last rose */
        bool is_ended;    /* killed; the kernel may take time to end it */
};

enum aside_state {
        ASIDE_RUNS,
        ASIDE_STANDS, /* no step for `still_ns`: the child was just killed */
        ASIDE_DONE,   /* the child exited with 0; there is no child any more */
        ASIDE_CUT     /* the child ended in any other way; there is no child any more */
};

/* As fork(). The child keeps only the standard descriptors, no signal handlers of the caller, and
 * one thread. */
pid_t aside_fork(struct aside *aside, const char *name, uint64_t now_ns);

/* The same, and the child keeps these descriptors; -1: none. */
pid_t aside_fork_with(struct aside *aside, const char *name, const int *kept, unsigned count,
                      uint64_t now_ns);

/* `steps`: the child's step counter, in memory that it shares with the caller. */
enum aside_state aside_tend(struct aside *aside, uint32_t steps, uint64_t still_ns,
                            uint64_t now_ns);

/* Whether the child has made a step lately. A blocked child uses no processor. */
bool aside_gets_on(const struct aside *aside, uint64_t now_ns);

/* Kills the child: it does no more work, but may not be gone yet. */
void aside_end(struct aside *aside);

struct aside_question {
        const char *name;               /* of the child */
        uint8_t (*work)(void *context); /* runs in the child, without our descriptors */
        void *context;
};

/* Forks a child and returns the result of `work` there; -ETIME: the child was killed after
 * `most_ns`; any other negative errno: it could not be forked, or died. */
int aside_ask(const struct aside_question *question, uint64_t most_ns);

#endif
