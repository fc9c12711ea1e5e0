/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's clock and its waits, in nanoseconds: CLOCK_MONOTONIC, or the virtual time of the
 * node (authority.h). All processes of the machine, or of the node, see the same time.
 *
 * No other code in this folder reads the time, sleeps for a modelled duration, or waits on a word
 * for something that may take modelled time. If a lock is held across such a wait, threads must
 * also wait for the lock with these functions.
 */
#ifndef ALIQUOT_SIM_NODE_CLOCK_H
#define ALIQUOT_SIM_NODE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/node/authority.h"

#define SIM_NEVER TIME_NEVER

/* Which threads may wait on a word: those of this process, or of all processes of the node. */
enum sim_reach { REACH_PROCESS, REACH_NODE };

/* Selects the clock: the virtual time of `authority`, or the machine's real time (NULL). Call it
 * before the functions below. */
void clock_follow_node(struct authority *authority);

/* Returns the authority of virtual time; NULL: time is real. */
struct authority *clock_authority(void);

uint64_t sim_now_ns(void);

/* Returns at `deadline_ns` or later; at once if it has passed. Spins for the last microseconds. */
void sim_sleep_until(uint64_t deadline_ns);

/* Sleeps for a modelled duration; returns at once when it is 0. */
void sim_spend(uint64_t duration_ns);

/* Charges the caller the minimum cost of a launch or of a query of pending work. In real time it
 * does nothing, because the call itself takes time. In virtual time it spends at least a
 * microsecond; otherwise a polling loop would never end. */
void sim_spend_call(uint64_t min_ns);

/* Waits like a futex: sleeps while *word is `expected`, until sim_wake() or the deadline
 * (SIM_NEVER: none). May return early. */
void sim_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns,
              enum sim_reach reach);

/* In virtual time, delays the calling thread after a wait by the configured wake= and wake_spread=.
 * Not for actions of the device or costs that are no waits: the threads of streams are never
 * late. */
void sim_wake_up(void);

/* Wakes up to `count` threads that wait on the word, which the caller has changed before. With
 * REACH_NODE, more may be woken. */
void sim_wake(const _Atomic uint32_t *word, uint32_t count, enum sim_reach reach);

/* Returns the time until which a waiting thread polls before it sleeps. In virtual time polling is
 * useless. */
uint64_t sim_spin_end_ns(uint64_t spin_ns);

/* Makes the calling thread take part in virtual time, or again after an absence
 * (authority_join()). */
void sim_take_part(void);

/* For the simulator's own threads, which take part in virtual time from before their creation until
 * they end. The creator calls sim_thread_expect(), and sim_thread_forget() if the creation fails;
 * the thread calls sim_thread_begin() and sim_thread_end(). */
uint32_t sim_thread_expect(void);
void sim_thread_forget(uint32_t party);
void sim_thread_begin(uint32_t party);
void sim_thread_end(void);

#endif
