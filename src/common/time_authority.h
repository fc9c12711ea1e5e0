/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose time it is: what a driver that keeps a time of its own offers to the code around it.
 *
 * The simulated libcuda.so.1 and libnvidia-ml.so.1 export TIME_AUTHORITY_SYMBOL, a
 * time_authority_find. A real driver has no such symbol: time is then the machine's. Found once,
 * before the first look at a clock, and given to clock_follow() (common/clock.h), after which
 * everybody's waits go through it: what docs/virtual-time.md promises of virtual time holds among
 * those who follow.
 *
 * Time stands still while a thread that takes part runs, and leaps to the next deadline when all
 * of them wait. Of those that could run one runs at a time, in an order that is the same in every
 * run. A thread that takes part must therefore wait here and nowhere else; one that blocks
 * elsewhere is passed over after a while of real time, and is back with its next call.
 *
 * Times are nanoseconds of one clock that all processes of a node share. Every function may be
 * called with locks held and from any thread; none allocates, is a cancellation point, or may be
 * called from a signal handler. errno is not kept.
 */
#ifndef ALIQUOT_COMMON_TIME_AUTHORITY_H
#define ALIQUOT_COMMON_TIME_AUTHORITY_H

#include <stdbool.h>
#include <stdint.h>

#define TIME_AUTHORITY_SYMBOL "aliquot_sim_time_authority"
#define TIME_AUTHORITY_VERSION 1u
#define TIME_NEVER UINT64_MAX
#define TIME_NOBODY UINT32_MAX

enum time_role {
        /* A program that computes: time goes on when it waits, towards what it waits for. */
        TIME_FOREGROUND,
        /* Serves programs: its waits end on time, but time does not hurry on their account. With no
         * program waiting for a time, virtual time goes by as fast as the machine's. */
        TIME_BACKGROUND,
};

struct time_authority {
        uint32_t version; /* TIME_AUTHORITY_VERSION or above: later ones only add at the end */
        uint32_t bytes;   /* of this table */

        uint64_t (*now_ns)(void);
        void (*sleep_until)(uint64_t deadline_ns);

        /* While *word is `expected`, until wake() or the deadline (TIME_NEVER: none). False: the
         * deadline has passed. True: look again, there may be no reason. The word may lie in
         * memory that processes share. */
        bool (*wait)(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);

        /* After *word was changed: at least `count` of those waiting on it go on, if so many do;
         * others may. They run when the caller waits. */
        void (*wake)(const _Atomic uint32_t *word, uint32_t count);

        /* The calling thread takes part from now on, or stops. join() returns when it is its turn.
         * A thread that never joined takes part while it waits, in the background. Leaves by
         * itself when it ends, however it ends. A forked child has not joined. */
        void (*join)(enum time_role role);
        void (*leave)(void);

        /* As wait(), for any of `count` words: while each is what is expected of it. */
        bool (*wait_any)(const _Atomic uint32_t *const word[], const uint32_t expected[],
                         unsigned count, uint64_t deadline_ns);

        /* A thread that the caller is about to make takes part from now on, not from when the
         * machine gets round to starting it: the number by which the thread itself begins, in
         * place of join(), or, if it never comes to be, its maker forgets it. TIME_NOBODY: no
         * room, and nothing to forget. */
        uint32_t (*expect)(enum time_role role);
        void (*begin)(uint32_t expected);
        void (*forget)(uint32_t expected);
};

/* NULL: this process's time is the machine's, or the version is not known here. The table is
 * constant and lives as long as the library. */
typedef const struct time_authority *time_authority_find(uint32_t version);

#endif
