/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one clock and the one sleep of the simulator, in nanoseconds of CLOCK_MONOTONIC.
 *
 * Nothing else in this folder asks for the time or sleeps for a modelled duration, so that a
 * virtual clock has one place to attach to. All processes of a machine share the origin.
 */
#ifndef ALIQUOT_SIM_NODE_CLOCK_H
#define ALIQUOT_SIM_NODE_CLOCK_H

#include <stdint.h>

uint64_t sim_now_ns(void);

/* Returns at `deadline_ns` or later; at once when it has passed. Spins the last microseconds. */
void sim_sleep_until(uint64_t deadline_ns);

/* A modelled duration: nothing when 0. */
void sim_spend(uint64_t duration_ns);

#endif
