/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one clock of the shim and the daemon, and the one way to wait for it: the machine's, or that
 * of a driver which keeps its own (common/time_authority.h).
 *
 * Any thread. All keep errno; none is a cancellation point, as they are called with locks held.
 */
#ifndef ALIQUOT_COMMON_CLOCK_H
#define ALIQUOT_COMMON_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/machine_clock.h"
#include "common/time_authority.h"

#define CLOCK_NEVER TIME_NEVER
#define CLOCK_WORDS 128u

/* From now on the clock is the authority's. Before the first look at the clock, since the two have
 * nothing to do with each other. NULL does nothing. Lives as long as the process. */
void clock_follow(const struct time_authority *authority);

/* Whether no simulated clock is followed: time is the machine's. */
bool clock_is_machine(void);

/* The machine's, also in a time namespace, or the authority's: comparable between the processes of
 * a machine. */
uint64_t clock_now_ns(void);

/* Sleeps for so long; a signal may end it early. */
void clock_sleep_ns(uint64_t ns);

/* A futex in memory that processes may share: sleeps while *word is `expected`, until clock_wake()
 * or `deadline_ns` of clock_now_ns() (CLOCK_NEVER: no end). False: the deadline has passed. True:
 * look at the word again; there may be no reason (a signal, another waiter's wake). */
bool clock_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);

/* As clock_wait(), for any of `count` words (at most CLOCK_WORDS): while each is what is expected
 * of it. The index of a word that was woken, perhaps one of several; `count`: look at all of them;
 * -ETIMEDOUT; -EFAULT: some word is in no memory any more (its file was cut short); -ENOSYS: the
 * kernel is older than 5.16, or a filter bars the call. After the last two nothing was waited for.
 */
int clock_wait_any(const _Atomic uint32_t *const word[], const uint32_t expected[], unsigned count,
                   uint64_t deadline_ns);

/* At least `count` of those who wait on the word, if there are so many. Change the word first. */
void clock_wake(const _Atomic uint32_t *word, uint32_t count);

/* The calling thread takes part in an authority's time until it leaves or ends; nothing on the
 * machine's. For threads that must be on time although nobody waits for them. */
void clock_join(enum time_role role);
void clock_leave(void);

/* The same for a thread that the caller is about to make, from now on: a busy machine may start it
 * late. With what this returns the thread begins, in place of clock_join(), or, where there is none
 * after all, its maker forgets it. */
uint32_t clock_expect(enum time_role role);
void clock_begin(uint32_t expected, enum time_role role);
void clock_forget(uint32_t expected);

#endif
