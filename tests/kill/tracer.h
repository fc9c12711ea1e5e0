/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a function in a child, one instruction at a time, and stops it wherever one likes.
 *
 * Only instructions of this program are stepped: the product is linked into it. A call that leaves
 * (libc, the vdso) is run to its return in one go; nothing out there writes what other processes
 * share, but by system calls, and those lie between two of our instructions.
 */
#ifndef ALIQUOT_TESTS_KILL_TRACER_H
#define ALIQUOT_TESTS_KILL_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Also step the text of the shared object whose path ends so; the program itself always is. */
void traced_also(const char *object);

struct traced {
        pid_t pid;
        bool has_ended; /* the function returned, or the child is gone */
        uint64_t pc;
};

/* Forks; the child runs `prepare`, then waits before the first instruction of `act`. */
struct traced traced_start(void (*prepare)(void), void (*act)(void));

/* One instruction of our own. False: `act` has returned (the child stays, stopped). */
bool traced_step(struct traced *child);

/* To where `pc` is about to be run for the `count`-th time, from 1. False: it was not. */
bool traced_run_to(struct traced *child, uint64_t pc, unsigned count);

/* To the next 16-byte swap, not yet made. False: there was none before the end. */
bool traced_to_swap(struct traced *child);

/* To the end of `act`; the child stays, stopped, with what it holds. */
void traced_finish(struct traced *child);

#define MAX_POINTS 16384u

/* The path of a victim that is not killed: where each of its instructions is, and the how manyth
 * time it is there. */
struct path {
        unsigned length;
        struct {
                uint64_t pc;
                unsigned visit;
        } at[MAX_POINTS];
};

/* Steps the child to its end, and writes down the way. */
void path_record(struct path *path, struct traced *child);

/* SIGKILL, and waits until nothing of it is left. */
void traced_kill(struct traced *child);

#endif
