/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the model as a grid: GPUs at the top, then sessions and their opened details, and one last
 * line with keys, a question or a message. If the grid is smaller than VIEW_MIN_*, it only says
 * that the terminal is too small.
 */
#ifndef ALIQUOT_CLI_TOP_VIEW_H
#define ALIQUOT_CLI_TOP_VIEW_H

#include "cli/top/grid.h"
#include "cli/top/keys.h"
#include "cli/top/lines.h"
#include "cli/top/model.h"

#define VIEW_MIN_ROWS 10
#define VIEW_MIN_COLUMNS 40

struct view_frame {
        const struct model *model;
        const char *clock;          /* time of day, "12:34:56" */
        const char *where;          /* path of the runtime folder */
        const struct lines *events; /* NULL: events are not shown */
        bool is_once; /* one frame for a script: every row, no keys, no history, no selection */
};

/* Returns the number of rows that a frame with `is_once` takes. */
int view_rows(const struct view_frame *frame);

/*
 * Draws into the whole grid, which is blank. Stores in `keys` the number of rows for sessions, and
 * in *first the index of the first row shown, so that the selected one is visible.
 */
void view_draw(struct grid *grid, const struct view_frame *frame, struct keys *keys, size_t *first);

#endif
