/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes which columns of a table fit a width, and how wide each is.
 *
 * If the columns do not fit, the one with the highest rank is left out, then the next; columns with
 * rank 0 stay. Remaining space is divided among the columns with a weight, each up to its `most`.
 */
#ifndef ALIQUOT_CLI_TOP_COLUMNS_H
#define ALIQUOT_CLI_TOP_COLUMNS_H

#include <stdbool.h>

#define COLUMNS_MAX 20u
#define COLUMNS_GAP 1

struct column {
        const char *title;
        int least; /* minimum width in cells */
        int most;  /* maximum width in cells; 0: the same as `least` */
        int weight;
        unsigned rank;
        bool is_right;
};

/* The first cell and the width of each column; width 0: left out. */
struct columns {
        unsigned count;
        int begin[COLUMNS_MAX], width[COLUMNS_MAX];
};

void columns_fit(struct columns *ret, const struct column *column, unsigned count, int width);

#endif
