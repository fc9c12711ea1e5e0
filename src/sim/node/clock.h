/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's clock and its waits, in nanoseconds: CLOCK_MONOTONIC, or the virtual time of the
 * node (authority.h). All processes of a machine, or of the node, share the origin.
 *
 * No other code in this folder reads the time, sleeps for a modelled duration, or waits on a word
 * for something that may take modelled time. A lock that is held across such a wait must itself be
 * waited for here.
 */
#ifndef ALIQUOT_SIM_NODE_CLOCK_H
#define ALIQUOT_SIM_NODE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/node/authority.h"

#define SIM_NEVER TIME_NEVER

/* Which threads may wait on a word. */
enum sim_reach { REACH_PROCESS, REACH_NODE };

/* Follows the time of the node with this authority, or the machine's (NULL). Call it before the
 * functions below. */
void clock_follow_node(struct authority *authority);

/* NULL: time is real. */
struct authority *clock_authority(void);

uint64_t sim_now_ns(void);

/* Returns at `deadline_ns` or later; at once if it has passed. Spins for the last microseconds. */
void sim_sleep_until(uint64_t deadline_ns);

/* A modelled duration: nothing when 0. */
void sim_spend(uint64_t duration_ns);

/* The minimum cost of a launch or of a query of pending work. Nothing in real time, where the call
 * itself takes time; a microsecond of virtual time, because otherwise a polling loop would never
 * end. */
void sim_spend_call(uint64_t least_ns);

/* A futex: sleeps while *word is `expected`, until sim_wake() or the deadline (SIM_NEVER: none).
 * May return early. */
void sim_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns,
              enum sim_reach reach);

/* In virtual time, delays the calling thread after a wait, as wake= and wake_spread= say. Not for a
 * device's own actions, nor for costs that are no wait: threads of streams are on time. */
void sim_wake_up(void);

/* Change the word first. In the node, more than `count` may be woken. */
void sim_wake(const _Atomic uint32_t *word, uint32_t count, enum sim_reach reach);

/* Until when a waiter polls before it sleeps. In virtual time polling is useless. */
uint64_t sim_spin_end_ns(uint64_t spin_ns);

/* The calling thread takes part in virtual time, or does so again (authority_join()). */
void sim_take_part(void);

/* For the simulator's own threads, which take part from before they are made until they end: the
 * maker calls sim_thread_expect() (or takes that back), and the thread begins and ends. */
uint32_t sim_thread_expect(void);
void sim_thread_forget(uint32_t party);
void sim_thread_begin(uint32_t party);
void sim_thread_end(void);

#endif
