/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the shim and the daemon, and its waits: the machine's clock, or that of a driver
 * with a clock of its own, such as the simulator's (common/time_authority.h).
 *
 * Any thread. All functions keep errno. None is a cancellation point, since callers hold locks.
 */
#ifndef ALIQUOT_COMMON_CLOCK_H
#define ALIQUOT_COMMON_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/machine_clock.h"
#include "common/time_authority.h"

#define CLOCK_NEVER TIME_NEVER
#define CLOCK_WORDS 128u

/* Switches to the authority's clock. Call it before the first use of the clock, since the two
 * clocks are unrelated. NULL does nothing. `authority` must live as long as the process. */
void clock_follow(const struct time_authority *authority);

/* Whether this is the machine's clock, not a simulated one. */
bool clock_is_machine(void);

/* Comparable between the processes of a machine: the machine's clock without the offset of a time
 * namespace, or the authority's clock. */
uint64_t clock_now_ns(void);

/* A signal may end the sleep early. */
void clock_sleep_ns(uint64_t ns);

/* A futex in memory that processes may share: sleeps while *word is `expected`, until clock_wake()
 * or `deadline_ns` of clock_now_ns() (CLOCK_NEVER: no end). False: the deadline has passed. True:
 * check the word again; the wake-up may be spurious (a signal, another waiter's wake). */
bool clock_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);

/* As clock_wait(), for `count` words (at most CLOCK_WORDS): sleeps while each has its expected
 * value. Returns the index of a word that was woken, perhaps one of several; `count`: check all of
 * them; -ETIMEDOUT; -EFAULT: a word is no longer in mapped memory (its file was truncated);
 * -ENOSYS: the kernel is older than 5.16, or a filter refuses the call. With the last two it did
 * not wait. */
int clock_wait_any(const _Atomic uint32_t *const word[], const uint32_t expected[], unsigned count,
                   uint64_t deadline_ns);

/* Wakes at least `count` waiters of the word, if there are so many. Change the word first. */
void clock_wake(const _Atomic uint32_t *word, uint32_t count);

/* The calling thread takes part in the authority's time until it leaves or ends; no effect on the
 * machine's clock. For threads that must run on time although no other thread waits for them. */
void clock_join(enum time_role role);
void clock_leave(void);

/* The same for a thread that the caller is about to create, from now on: a busy machine may start
 * it late. The new thread calls clock_begin() with the returned value instead of clock_join(); if
 * the thread could not be created, its creator calls clock_forget(). */
uint32_t clock_expect(enum time_role role);
void clock_begin(uint32_t expected, enum time_role role);
void clock_forget(uint32_t expected);

#endif
