/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface through which a driver that has its own clock (the simulator) provides its time to
 * the code that uses it.
 *
 * The simulated libcuda.so.1 and libnvidia-ml.so.1 export TIME_AUTHORITY_SYMBOL, a function of type
 * time_authority_find. A real driver lacks this symbol: then the machine's clock is used. The table
 * is found once, before the first use of a clock, and given to clock_follow() (common/clock.h).
 * From then on all waits go through it. The promises of docs/virtual-time.md hold among the threads
 * that wait so.
 *
 * A thread takes part in virtual time after join(). Time stands still while such a thread runs, and
 * jumps to the next deadline when all of them wait. If several can run, one runs at a time, in an
 * order that is the same in every run. So a thread that takes part must wait only with these
 * functions. One that blocks elsewhere is ignored after some real time, and takes part again with
 * its next call.
 *
 * Times are nanoseconds of one clock, which all processes of a node share. Every function may be
 * called with locks held and from any thread, but not from a signal handler. None allocates or is a
 * cancellation point. errno is not kept.
 */
#ifndef ALIQUOT_COMMON_TIME_AUTHORITY_H
#define ALIQUOT_COMMON_TIME_AUTHORITY_H

#include <stdbool.h>
#include <stdint.h>

#define TIME_AUTHORITY_SYMBOL "aliquot_sim_time_authority"
#define TIME_AUTHORITY_VERSION 1u
#define TIME_NEVER UINT64_MAX
#define TIME_NOBODY UINT32_MAX

/* How a thread takes part. */
enum time_role {
        /* A thread of a program: while it waits, time advances towards its deadline. */
        TIME_FOREGROUND,
        /* A thread that serves programs: its waits end on time, but time does not jump for such
         * threads alone. While no program waits for a deadline, virtual time passes as fast as
         * the machine's. */
        TIME_BACKGROUND,
};

struct time_authority {
        uint32_t version; /* TIME_AUTHORITY_VERSION or higher; higher versions only append fields */
        uint32_t bytes;   /* size of this table in bytes */

        uint64_t (*now_ns)(void);
        void (*sleep_until)(uint64_t deadline_ns);

        /* Waits while *word is `expected`, until wake() or the deadline (TIME_NEVER: none). False:
         * the deadline has passed. True: read the word again, since the wake-up may be spurious.
         * Processes may share the word's memory. */
        bool (*wait)(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);

        /* Wakes at least `count` waiters of the word, or all if there are fewer; more may wake.
         * Call it after the word was changed. The woken threads run when the caller waits. */
        void (*wake)(const _Atomic uint32_t *word, uint32_t count);

        /* join() makes the calling thread take part, and returns when it is the thread's turn to
         * run. leave() ends that; so does the end of the thread. A thread that has not joined takes
         * part only while it waits, as TIME_BACKGROUND. A forked child has not joined. */
        void (*join)(enum time_role role);
        void (*leave)(void);

        /* As wait(), for `count` words: waits while each has its expected value. */
        bool (*wait_any)(const _Atomic uint32_t *const word[], const uint32_t expected[],
                         unsigned count, uint64_t deadline_ns);

        /* expect() makes a thread that the caller is about to create take part from now on, not
         * from when the machine starts it. It returns a number. The new thread calls begin() with
         * the number instead of join(). If the thread is not created, its creator calls forget().
         * TIME_NOBODY: there is no room, and no need for forget(). */
        uint32_t (*expect)(enum time_role role);
        void (*begin)(uint32_t expected);
        void (*forget)(uint32_t expected);
};

/* Returns the table, which is constant and lives as long as the library. NULL: this process uses
 * the machine's time, or the library does not know `version`. */
typedef const struct time_authority *time_authority_find(uint32_t version);

#endif
