/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a record with characters: for each session the time that it got as marks and the time that
 * it was promised as lines, and a table of both.
 */
#ifndef ALIQUOT_CLI_BENCH_CHART_H
#define ALIQUOT_CLI_BENCH_CHART_H

#include "cli/bench/record.h"
#include "cli/top/grid.h"

#define CHART_COLUMNS 80

/* Draws into a grid that has `is_utf8` set, or is zeroed; the caller frees it with grid_finish().
 * -ENOMEM: out of memory. */
int chart_draw(const struct record *record, struct grid *grid);

/* Prints the grid as lines of text, with attributes as terminal escape codes. */
void chart_print_coloured(const struct grid *grid, FILE *stream);

#endif
