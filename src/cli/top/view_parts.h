/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the files of the view share, and the two tables of the view. Each table draws its
 * titles at `row` and its lines below.
 */
#ifndef ALIQUOT_CLI_TOP_VIEW_PARTS_H
#define ALIQUOT_CLI_TOP_VIEW_PARTS_H

#include "cli/top/columns.h"
#include "cli/top/view.h"
#include "common/text.h"

#define VIEW_SHORT_UUID 12 /* length of GPU- and 8 digits */

/* A row of a table. */
struct view_line {
        struct grid *grid;
        const struct view_frame *frame;
        const struct columns *columns;
        int row;
};

/* Returns the place of a column in a line. */
struct grid_place view_place(const struct view_line *line, unsigned column, uint8_t looks);

/* Columns of the table of sessions; those from SHARE to DEBT are about GPU time. */
enum sessions_column {
        SESSIONS_MARKS,
        SESSIONS_NAME,
        SESSIONS_PROCESSES,
        SESSIONS_USED,
        SESSIONS_LIMIT,
        SESSIONS_MEMORY,
        SESSIONS_FILL,
        SESSIONS_LINE,
        SESSIONS_SHARE,
        SESSIONS_PROMISED,
        SESSIONS_TIME,
        SESSIONS_TIME_LINE,
        SESSIONS_WAIT,
        SESSIONS_DEBT,
        SESSIONS_GPUS,
        SESSIONS_LEFT,
        SESSIONS_STATE,
        SESSIONS_COLUMNS,
};

struct layout {
        struct column column[SESSIONS_COLUMNS];
        struct columns columns;
        unsigned sorted; /* the column by which the rows are sorted */
};

void layout_fit(struct layout *ret, const struct view_frame *frame, int width);

/* Draws the columns about GPU time, except its history. `figures` NULL: nothing is promised or
 * measured. */
void time_draw(const struct view_line *line, const struct snapshot_share *share,
               const struct pace_figures *figures);

/* Returns the text of the column STATE for one GPU. */
const char *time_state(const struct snapshot_share *share, const struct pace *pace);

/* Adds a session's terms as a line: "GPU time: at most 30%, weight 100, normal, accuracy=exact". */
void time_tell(struct text *text, const struct model *model, size_t at);

/* Draws at most `rows` rows, including the title and, if not all GPUs fit, a line that says so.
 * Returns the number of rows used. */
int devices_draw(struct grid *grid, const struct view_frame *frame, int row, int rows);

/* Draws at most `rows` rows, including the titles; the first line shows row `first` of the
 * model. */
void sessions_draw(struct grid *grid, const struct view_frame *frame, int row, int rows,
                   size_t first);

/* Draws the line of titles of a table. */
void view_titles(struct grid *grid, int row, const struct column *column,
                 const struct columns *columns);

/* Returns a number of bytes as text; "-" for PAGE_UNLIMITED. */
const char *view_bytes(uint64_t bytes, char ret[]);

#endif
