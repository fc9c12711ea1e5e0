/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last few minutes of one figure, in thousandths of its whole.
 *
 * A ring of samples, one a tick. For a line of N cells the ring is cut into N spans, and each cell
 * is the highest sample of its span. Spans begin at multiples of their length since the first
 * sample, so that a line moves by whole cells and its peaks do not flicker.
 */
#ifndef ALIQUOT_CLI_TOP_HISTORY_H
#define ALIQUOT_CLI_TOP_HISTORY_H

#include <stdint.h>

#define HISTORY_SAMPLES 240u

struct history {
        uint64_t count; /* samples ever taken */
        uint16_t permille[HISTORY_SAMPLES];
};

void history_add(struct history *history, unsigned permille);

/* Cell `at` of `cells` (1 to HISTORY_SAMPLES), oldest first; -1: nothing was known yet. */
int history_cell(const struct history *history, unsigned cells, unsigned at);

#endif
