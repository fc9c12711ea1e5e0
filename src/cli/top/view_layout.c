/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of the table of sessions. If not all fit, the model decides whether those about
 * memory or those about GPU time stay. Columns that have no content on this node are left out.
 */
#include "cli/top/view_parts.h"

/* The order in which columns are left out: the highest rank first; 0 stays. There are three ranks:
 * for a view of memory, of both, and of GPU time. */
enum look { LOOK_MEMORY, LOOK_BOTH, LOOK_TIME, LOOKS };

static const struct column columns_of_sessions[SESSIONS_COLUMNS] = {
        [SESSIONS_MARKS] = { "", .least = 2 },
        [SESSIONS_NAME] = { "SESSION", .least = 12, .most = 40, .weight = 3 },
        [SESSIONS_PROCESSES] = { "PROC", .least = 5, .is_right = true },
        [SESSIONS_USED] = { "USED", .least = 10, .is_right = true },
        [SESSIONS_LIMIT] = { "LIMIT", .least = 10, .is_right = true },
        [SESSIONS_MEMORY] = { "MEMORY", .least = 8, .most = 60, .weight = 4 },
        [SESSIONS_FILL] = { "FULL", .least = 5, .is_right = true },
        [SESSIONS_LINE] = { "", .least = 6, .most = 48, .weight = 2 },
        [SESSIONS_SHARE] = { "SHARE", .least = 6, .is_right = true },
        [SESSIONS_PROMISED] = { "PROMISED", .least = 8, .most = 11, .weight = 1, .is_right = true },
        [SESSIONS_TIME] = { "TIME", .least = 8, .most = 60, .weight = 4 },
        [SESSIONS_TIME_LINE] = { "", .least = 6, .most = 48, .weight = 2 },
        [SESSIONS_WAIT] = { "WAIT", .least = 6, .is_right = true },
        [SESSIONS_DEBT] = { "DEBT", .least = 6, .is_right = true },
        [SESSIONS_GPUS] = { "GPU", .least = 5, .most = 12, .weight = 1 },
        [SESSIONS_LEFT] = { "LEFT", .least = 6, .is_right = true },
        [SESSIONS_STATE] = { "STATE", .least = 6 },
};

static const unsigned ranks[SESSIONS_COLUMNS][LOOKS] = {
        [SESSIONS_PROCESSES] = { 2, 2, 3 }, [SESSIONS_USED] = { 0, 0, 9 },
        [SESSIONS_LIMIT] = { 0, 0, 10 },    [SESSIONS_MEMORY] = { 1, 1, 11 },
        [SESSIONS_FILL] = { 3, 6, 12 },     [SESSIONS_LINE] = { 6, 9, 13 },
        [SESSIONS_SHARE] = { 0, 3, 0 },     [SESSIONS_PROMISED] = { 0, 5, 0 },
        [SESSIONS_TIME] = { 0, 11, 1 },     [SESSIONS_TIME_LINE] = { 0, 10, 5 },
        [SESSIONS_WAIT] = { 0, 12, 2 },     [SESSIONS_DEBT] = { 0, 13, 6 },
        [SESSIONS_GPUS] = { 5, 8, 7 },      [SESSIONS_LEFT] = { 7, 14, 14 },
        [SESSIONS_STATE] = { 4, 4, 4 },
};

/* The column for each sort order. */
static const unsigned sorted_column[SORT_KEYS] = {
        [SORT_NAME] = SESSIONS_NAME,    [SORT_PROCESSES] = SESSIONS_PROCESSES,
        [SORT_USED] = SESSIONS_USED,    [SORT_LIMIT] = SESSIONS_LIMIT,
        [SORT_FILL] = SESSIONS_FILL,    [SORT_SHARE] = SESSIONS_SHARE,
        [SORT_WAITING] = SESSIONS_WAIT,
};

#define REASON_CELLS 9 /* length of "throttled" */

static bool has_ends(const struct snapshot *now)
{
        for (size_t i = 0; i < now->session_count; i++) {
                if (now->session[i].left_seconds >= 0)
                        return true;
        }
        return false;
}

static bool has_times(const struct snapshot *now)
{
        for (size_t i = 0; i < now->session_count; i++) {
                for (unsigned j = 0; j < now->session[i].share_count; j++) {
                        if (snapshot_has_time(&now->session[i].share[j]))
                                return true;
                }
        }
        return false;
}

/* Returns whether any session is clamped or reported. */
static bool has_seen(const struct snapshot *now)
{
        for (size_t i = 0; i < now->session_count; i++) {
                if (now->session[i].is_clamped || now->session[i].is_reported)
                        return true;
        }
        return false;
}

static void leave_out(struct column *column)
{
        column->least = column->most = 0;
}

void layout_fit(struct layout *ret, const struct view_frame *frame, int width)
{
        const struct model *model = frame->model;
        bool tells_time = has_times(model->now);
        enum look look = !tells_time ? LOOK_MEMORY : model->shows_time ? LOOK_TIME : LOOK_BOTH;

        for (unsigned i = 0; i < SESSIONS_COLUMNS; i++) {
                ret->column[i] = columns_of_sessions[i];
                ret->column[i].rank = ranks[i][look];
        }
        if (frame->is_once) {
                leave_out(&ret->column[SESSIONS_LINE]);
                leave_out(&ret->column[SESSIONS_TIME_LINE]);
        }
        if (!has_ends(model->now))
                leave_out(&ret->column[SESSIONS_LEFT]);
        if (tells_time || has_seen(model->now))
                ret->column[SESSIONS_STATE].least = REASON_CELLS;
        for (unsigned i = SESSIONS_SHARE; i <= SESSIONS_DEBT && !tells_time; i++)
                leave_out(&ret->column[i]);
        columns_fit(&ret->columns, ret->column, SESSIONS_COLUMNS, width);
        ret->sorted = sorted_column[model->sort];
}
