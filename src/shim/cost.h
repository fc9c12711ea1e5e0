/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What executable graphs take, learned from each that was measured. Few at a time are remembered:
 * of two that fall on one place the later one counts. Any thread; wiped in a forked child.
 */
#ifndef ALIQUOT_SHIM_COST_H
#define ALIQUOT_SHIM_COST_H

#include <stdint.h>

#include "shim/estimate.h"

/* No samples: none was measured, or that is forgotten. `what` is never 0. */
struct estimate cost_of(uint64_t what);

void cost_learn(uint64_t what, uint64_t sample_ns);

#endif
