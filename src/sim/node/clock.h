/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one clock of the simulator and the one way to wait, in nanoseconds: CLOCK_MONOTONIC, or the
 * virtual time of the node (authority.h). All processes of a machine, or of the node, share the
 * origin.
 *
 * Nothing else in this folder asks for the time, sleeps for a modelled duration, or waits on a word
 * for what may take modelled time. A lock that is held across such a wait must itself be waited
 * for here.
 */
#ifndef ALIQUOT_SIM_NODE_CLOCK_H
#define ALIQUOT_SIM_NODE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/node/authority.h"

#define SIM_NEVER TIME_NEVER

/* Who may wait on a word. */
enum sim_reach { REACH_PROCESS, REACH_NODE };

/* The time of the node whose authority this is, or the machine's (NULL). Before anything below. */
void clock_follow_node(struct authority *authority);

/* NULL: time is real. */
struct authority *clock_authority(void);

uint64_t sim_now_ns(void);

/* Returns at `deadline_ns` or later; at once when it has passed. Spins the last microseconds. */
void sim_sleep_until(uint64_t deadline_ns);

/* A modelled duration: nothing when 0. */
void sim_spend(uint64_t duration_ns);

/* What a launch and a look at what is under way cost at least: nothing in real time, where they
 * take what they take; a microsecond of virtual time, or who looks in a loop would look for ever.
 */
void sim_spend_call(uint64_t least_ns);

/* A futex: sleeps while *word is `expected`, until sim_wake() or the deadline (SIM_NEVER: none).
 * May return for no reason. */
void sim_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns,
              enum sim_reach reach);

/* Virtual time, behind a wait: the calling thread goes on as late as wake= and wake_spread= say.
 * Not for what a device does, nor for what costs time and is no wait: streams' threads are on
 * time. */
void sim_wake_up(void);

/* Change the word first. In the node, more than `count` may be woken. */
void sim_wake(const _Atomic uint32_t *word, uint32_t count, enum sim_reach reach);

/* How long a waiter looks before it sleeps: until then. In virtual time looking is no use. */
uint64_t sim_spin_end_ns(uint64_t spin_ns);

/* The calling thread takes part in virtual time, or does so again (authority_join()). */
void sim_take_part(void);

/* A thread of the simulator's own takes part from before it is made until its end: the maker
 * expects it (or takes that back), and the thread begins and ends. */
uint32_t sim_thread_expect(void);
void sim_thread_forget(uint32_t party);
void sim_thread_begin(uint32_t party);
void sim_thread_end(void);

#endif
