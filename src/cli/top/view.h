/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the model as a grid: GPUs at the top, then sessions and opened details, and last one line
 * of keys, of a question or of a message. Below VIEW_LEAST_* it only says that the terminal is too
 * small.
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
        const char *clock;          /* "12:34:56" */
        const char *where;          /* the runtime folder */
        const struct lines *events; /* NULL: events are not shown */
        bool is_once; /* one frame for a script: every row, no keys, no history, no selection */
};

/* How many rows a frame with `is_once` takes. */
int view_rows(const struct view_frame *frame);

/*
 * Draws into the whole grid, which is blank. Stores in `keys` how many rows of sessions had room,
 * and in *first the first of them, so that the selected one is visible.
 */
void view_draw(struct grid *grid, const struct view_frame *frame, struct keys *keys, size_t *first);

#endif
