/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's one clock and one sleep, so that both can follow another authority's time.
 *
 * Both keep errno; neither is a cancellation point, as they are called with locks held.
 */
#ifndef ALIQUOT_SHIM_CLOCK_H
#define ALIQUOT_SHIM_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC: comparable between the processes of a machine. */
uint64_t clock_now_ns(void);

/* May end early, by a signal. */
void clock_sleep_ns(uint64_t ns);

#endif
