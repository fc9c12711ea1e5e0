/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record drawn with characters: what each session had over time as marks, what it was promised as
 * lines, and a table of both.
 */
#ifndef ALIQUOT_CLI_BENCH_CHART_H
#define ALIQUOT_CLI_BENCH_CHART_H

#include "cli/bench/record.h"
#include "cli/top/grid.h"

#define CHART_COLUMNS 80

/* Into a grid that has `is_utf8` set, or is zeroed; grid_finish(). -ENOMEM. */
int chart_draw(const struct record *record, struct grid *grid);

/* As lines of text, with the looks as a terminal takes them. */
void chart_print_coloured(const struct grid *grid, FILE *stream);

#endif
