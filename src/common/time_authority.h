/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface by which a driver with a clock of its own (the simulator) gives its time to the
 * code around it.
 *
 * The simulated libcuda.so.1 and libnvidia-ml.so.1 export TIME_AUTHORITY_SYMBOL, a
 * time_authority_find. A real driver lacks this symbol: then the machine's clock is used. The table
 * is found once, before the first use of a clock, and given to clock_follow() (common/clock.h);
 * from then on all waits go through it. The promises of docs/virtual-time.md hold among the threads
 * that do so.
 *
 * Time stands still while a participating thread runs, and jumps to the next deadline when all of
 * them wait. Of the runnable ones one runs at a time, in an order that is the same in every run. So
 * a participating thread must wait only by these functions; one that blocks elsewhere is passed
 * over after a while of real time, and takes part again with its next call.
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
        /* A program that computes: while it waits, time advances towards its deadline. */
        TIME_FOREGROUND,
        /* Serves programs: its waits end on time, but time does not jump for them alone. While no
         * program waits for a deadline, virtual time passes as fast as the machine's. */
        TIME_BACKGROUND,
};

struct time_authority {
        uint32_t version; /* TIME_AUTHORITY_VERSION or above: later ones only append fields */
        uint32_t bytes;   /* of this table */

        uint64_t (*now_ns)(void);
        void (*sleep_until)(uint64_t deadline_ns);

        /* Waits while *word is `expected`, until wake() or the deadline (TIME_NEVER: none). False:
         * the deadline has passed. True: check again, the wake-up may be spurious. Processes may
         * share the word's memory. */
        bool (*wait)(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);

        /* Call it after *word was changed: at least `count` waiters of the word go on, if there are
         * so many; others may. They run when the caller waits. */
        void (*wake)(const _Atomic uint32_t *word, uint32_t count);

        /* The calling thread takes part from now on, or stops. join() returns when it is the
         * thread's turn to run. A thread that never joined takes part while it waits, in the
         * background. A thread leaves by itself however it ends. A forked child has not joined. */
        void (*join)(enum time_role role);
        void (*leave)(void);

        /* As wait(), for `count` words: waits while each has its expected value. */
        bool (*wait_any)(const _Atomic uint32_t *const word[], const uint32_t expected[],
                         unsigned count, uint64_t deadline_ns);

        /* A thread that the caller is about to create takes part from now on, not from when the
         * machine starts it. Returns a number: the thread calls begin() with it instead of join(),
         * or, if the thread is never created, its creator calls forget(). TIME_NOBODY: no room, and
         * nothing to forget. */
        uint32_t (*expect)(enum time_role role);
        void (*begin)(uint32_t expected);
        void (*forget)(uint32_t expected);
};

/* NULL: this process uses the machine's time, or the version is unknown. The table is constant and
 * lives as long as the library. */
typedef const struct time_authority *time_authority_find(uint32_t version);

#endif
