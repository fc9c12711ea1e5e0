/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last few minutes of one figure, in thousandths of its whole.
 *
 * It is a ring of samples, one for each snapshot. For a line of N cells the ring is cut into N
 * spans, and each cell is the highest sample of its span. Spans begin at multiples of their length
 * since the first sample, so that a line moves by whole cells and its peaks do not flicker.
 */
#ifndef ALIQUOT_CLI_TOP_HISTORY_H
#define ALIQUOT_CLI_TOP_HISTORY_H

#include <stdint.h>

#define HISTORY_SAMPLES 240u

struct history {
        uint64_t count; /* number of samples ever added */
        uint16_t permille[HISTORY_SAMPLES];
};

void history_add(struct history *history, unsigned permille);

/* Returns the value of cell `at` of `cells` (1 to HISTORY_SAMPLES), the oldest first; -1: there is
 * no sample yet for it. */
int history_cell(const struct history *history, unsigned cells, unsigned at);

#endif
