/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two tables of the view. Each draws its title at `row` and what follows below it.
 */
#ifndef ALIQUOT_CLI_TOP_VIEW_PARTS_H
#define ALIQUOT_CLI_TOP_VIEW_PARTS_H

#include "cli/top/columns.h"
#include "cli/top/view.h"

/* At most `rows` rows, the title and, where not all fit, a line that says so among them. Returns
 * how many it took. */
int devices_draw(struct grid *grid, const struct view_frame *frame, int row, int rows);

/* Rows from `first` on, to `rows` in all, the title among them. */
void sessions_draw(struct grid *grid, const struct view_frame *frame, int row, int rows,
                   size_t first);

/* A line of titles. */
void view_titles(struct grid *grid, int row, const struct column *column,
                 const struct columns *columns);

/* Bytes; "-" for PAGE_UNLIMITED. */
const char *view_bytes(uint64_t bytes, char ret[]);

#endif
