/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which columns of a table fit a width, and how wide each is.
 *
 * Too narrow: the one with the highest rank goes, then the next; rank 0 stays. Space that is left
 * is shared by those with a weight, each up to its most.
 */
#ifndef ALIQUOT_CLI_TOP_COLUMNS_H
#define ALIQUOT_CLI_TOP_COLUMNS_H

#include <stdbool.h>

#define COLUMNS_MAX 20u
#define COLUMNS_GAP 1

struct column {
        const char *title;
        int least; /* cells */
        int most;  /* cells; 0: as `least` */
        int weight;
        unsigned rank;
        bool is_right;
};

/* Where each begins and how wide it is; width 0: left out. */
struct columns {
        unsigned count;
        int begin[COLUMNS_MAX], width[COLUMNS_MAX];
};

void columns_fit(struct columns *ret, const struct column *column, unsigned count, int width);

#endif
