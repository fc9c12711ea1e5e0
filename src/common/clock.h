/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock that our library and the daemon use, and waits on it. It is the machine's clock, or the
 * clock of a driver that has its own, such as the simulator (common/time_authority.h: the
 * authority).
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

/* Switches to the authority's clock. Must be called before the first use of the clock, since the
 * times of the two clocks cannot be compared. NULL does nothing. `authority` must live as long as
 * the process. */
void clock_follow(const struct time_authority *authority);

/* Whether the clock is the machine's, not a simulated one. */
bool clock_is_machine(void);

/* The current time, which can be compared between the processes of a machine: the authority's
 * clock, or the machine's clock without the offset of a time namespace. */
uint64_t clock_now_ns(void);

/* Sleeps for `ns`; a signal may end the sleep early. */
void clock_sleep_ns(uint64_t ns);

/* Waits on a futex in memory that processes may share: sleeps while *word is `expected`, until
 * clock_wake() or until clock_now_ns() is `deadline_ns` (CLOCK_NEVER: no deadline). False: the
 * deadline has passed. True: read the word again, since the wake-up may be spurious (a signal, or a
 * wake for another waiter). */
bool clock_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);

/* As clock_wait(), for `count` words (at most CLOCK_WORDS): sleeps while each has its expected
 * value. Returns the index of a word that was woken; others may have been woken too. `count`: read
 * all words. -ETIMEDOUT: the deadline has passed. -EFAULT: a word is no longer in mapped memory
 * (its file was truncated). -ENOSYS: the kernel is older than 5.16, or a seccomp filter refuses the
 * call. With -EFAULT and -ENOSYS it did not wait. */
int clock_wait_any(const _Atomic uint32_t *const word[], const uint32_t expected[], unsigned count,
                   uint64_t deadline_ns);

/* Wakes at least `count` waiters of the word, or all if there are fewer. Change the word first. */
void clock_wake(const _Atomic uint32_t *word, uint32_t count);

/* clock_join() makes the calling thread take part in the authority's time until clock_leave() or
 * its end: time advances only when all such threads wait. For threads that must run on time
 * although no other thread waits for them. Both have no effect on the machine's clock. */
void clock_join(enum time_role role);
void clock_leave(void);

/* As clock_join(), for a thread that the caller is about to create: the thread takes part from the
 * call of clock_expect() on, even if a busy machine starts it late. The new thread calls
 * clock_begin() with the returned value instead of clock_join(). If the thread could not be
 * created, its creator calls clock_forget(). */
uint32_t clock_expect(enum time_role role);
void clock_begin(uint32_t expected, enum time_role role);
void clock_forget(uint32_t expected);

#endif
