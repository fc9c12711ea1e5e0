/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/view.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/view_parts.h"
#include "common/units.h"
#include "common/uuid.h"

/* rows for the header, a blank line before the sessions, and the last line */
#define OTHER_ROWS 3

static const char *const help[] = {
        "up down j k         select; also page up, page down, home, end",
        "enter               open or close the session: end, labels, GPUs, processes",
        "a                   open all, close all",
        "n p u m f b w       sort by name, processes, used, limit, full, share, waiting",
        "s r                 sort by the next one; reverse the order",
        "/                   filter by session, label, command, user, pid; Esc: all again",
        "v                   where the screen is narrow: more of memory, more of GPU time",
        "l c g W P G         set memory limit, cap, guarantee, weight, priority, gang",
        "t K                 end the process, or all of the session: SIGTERM, SIGKILL",
        "e                   what the daemon did, as it happens",
        "space               hold the picture still; again: go on",
        "q                   quit",
};

const char *view_bytes(uint64_t bytes, char ret[])
{
        return bytes == PAGE_UNLIMITED ? "-" : size_format(bytes, ret);
}

struct grid_place view_place(const struct view_line *line, unsigned column, uint8_t looks)
{
        return (struct grid_place){ line->row, line->columns->begin[column],
                                    line->columns->width[column], looks };
}

void view_titles(struct grid *grid, int row, const struct column *column,
                 const struct columns *columns)
{
        struct grid_place line = { row, 0, grid->columns, GRID_TITLE };

        grid_text(grid, &line, "%s", "");
        for (unsigned i = 0; i < columns->count; i++) {
                struct grid_place place = { row, columns->begin[i], columns->width[i], GRID_TITLE };

                if (column[i].is_right)
                        grid_right(grid, &place, column[i].title);
                else
                        grid_text(grid, &place, "%s", column[i].title);
        }
}

static void draw_header(struct grid *grid, const struct view_frame *frame, const struct keys *keys)
{
        const struct snapshot *now = frame->model->now;
        struct grid_place place = { 0, 0, grid->columns, GRID_BOLD };
        unsigned processes = 0;
        char right[96];
        int length;

        for (size_t i = 0; i < now->session_count; i++)
                processes += snapshot_processes(&now->session[i]);
        length = snprintf(right, sizeof(right), "%s%s", keys->is_paused ? "held still  " : "",
                          frame->clock);
        grid_text(grid, &place, "aliquot top  %zu session%s, %u process%s  %s", now->session_count,
                  now->session_count == 1 ? "" : "s", processes, processes == 1 ? "" : "es",
                  frame->where);
        if (length > 0 && length + 2 < grid->columns) {
                place = (struct grid_place){ 0, grid->columns - length - 2, length + 2, GRID_BOLD };
                grid_right(grid, &place, right);
        }
}

static void draw_signal(struct grid *grid, const struct grid_place *place, const struct keys *keys)
{
        const char *signal = keys->signal == SIGKILL ? "SIGKILL" : "SIGTERM";

        if (keys->target_count == 1)
                grid_text(grid, place, "%s to %s (process %u) of %s? y or n", signal,
                          keys->target[0].said.command, keys->target[0].pid, keys->session);
        else
                grid_text(grid, place, "%s to all %u processes of %s? y or n", signal,
                          keys->target_count, keys->session);
}

/* Shortens the UUIDs in a message to their beginnings, so that it fits the line. */
static const char *shorten_uuids(const char *text, char ret[KEYS_LINE_BYTES])
{
        char uuid[UUID_TEXT_BYTES];
        uint8_t bytes[16];
        size_t used = 0;

        while (*text && used + 1 < KEYS_LINE_BYTES) {
                ret[used++] = *text++;
                snprintf(uuid, sizeof(uuid), "%.40s", text - 1);
                if (!uuid_parse(uuid, bytes))
                        continue;
                for (unsigned i = 1; i < VIEW_SHORT_UUID && used + 1 < KEYS_LINE_BYTES; i++)
                        ret[used++] = uuid[i];
                text += UUID_TEXT_BYTES - 2;
        }
        ret[used] = '\0';
        return ret;
}

static void draw_last(struct grid *grid, const struct view_frame *frame, const struct keys *keys)
{
        const struct model *model = frame->model;
        struct grid_place place = { grid->rows - 1, 0, grid->columns, GRID_BOLD };
        char message[KEYS_LINE_BYTES];

        if (keys->question == ASKS_FILTER) {
                grid_text(grid, &place, "filter: %s_", model->filter);
        } else if (keys->question == ASKS_TERM) {
                grid_text(grid, &place, "%s of %s, %s: %s_", keys->term->flag, keys->session,
                          keys->term->asked, keys->line);
        } else if (keys->question == ASKS_SIGNAL) {
                place.looks = GRID_BOLD | GRID_RED;
                draw_signal(grid, &place, keys);
        } else if (keys->message[0]) {
                place.looks = GRID_BOLD | (keys->is_bad ? GRID_RED : GRID_GREEN);
                grid_text(grid, &place, "%s", shorten_uuids(keys->message, message));
        } else {
                place.looks = GRID_DIM;
                grid_text(grid, &place,
                          "%s%s%s? help  q quit  s sort (%s)  v view  / filter  enter open  l c "
                          "limit  t K end",
                          model->filter[0] ? "filter: " : "", model->filter,
                          model->filter[0] ? "  " : "", sort_names[model->sort]);
        }
}

static void draw_help(struct grid *grid)
{
        struct grid_place place = { 0, 0, grid->columns, GRID_BOLD };
        struct grid_place bar = { 0, 0, 18, GRID_GREEN };

        grid_text(grid, &place, "aliquot top: its keys (any key goes back)");
        place.looks = GRID_PLAIN;
        for (unsigned i = 0; i < sizeof(help) / sizeof(help[0]); i++) {
                place.row++;
                grid_text(grid, &place, "%s", help[i]);
        }
        bar.row = place.row = place.row + 2;
        place.column = 20;
        grid_bar(grid, &bar, 400, 300);
        grid_text(grid, &place, "of a GPU: sessions, others, free");
        bar.row = ++place.row;
        bar.looks = GRID_CYAN;
        grid_bar(grid, &bar, 200, 300);
        grid_text(grid, &place, "of its time: had, what else is promised, free");
}

static void draw_events(struct grid *grid, const struct lines *events)
{
        struct grid_place place = { 0, 0, grid->columns, GRID_BOLD };
        unsigned kept = events ? lines_kept(events) : 0;
        unsigned room = (unsigned)grid->rows - 1;

        grid_text(grid, &place, "what the daemon did, the latest last (any key goes back)");
        place.looks = GRID_PLAIN;
        for (unsigned at = kept > room ? kept - room : 0; at < kept; at++) {
                place.row++;
                grid_text(grid, &place, "%s", lines_at(events, at));
        }
}

/* Draws that the daemon is silent, in the blank line before the sessions. Values that only the
 * daemon has are not shown meanwhile. */
static void draw_silence(struct grid *grid, const struct snapshot *now, int row)
{
        struct grid_place place = { row, 0, grid->columns, GRID_BOLD | GRID_RED };

        if (now->is_silent && now->silent_seconds)
                grid_text(grid, &place, "no answer from the daemon for %llu s",
                          (unsigned long long)now->silent_seconds);
        else if (now->is_silent)
                grid_text(grid, &place, "no answer from the daemon");
}

static bool is_too_small(struct grid *grid)
{
        struct grid_place place = { grid->rows / 2, 0, grid->columns, GRID_BOLD };

        if (grid->rows >= VIEW_MIN_ROWS && grid->columns >= VIEW_MIN_COLUMNS)
                return false;
        grid_text(grid, &place, "too small: %dx%d needed", VIEW_MIN_COLUMNS, VIEW_MIN_ROWS);
        return true;
}

/* Returns the first row to show: it scrolls no further than needed, and leaves no line unused. */
static size_t scroll(const struct model *model, size_t first, size_t room)
{
        if (model->selected < first)
                first = model->selected;
        if (model->selected >= first + room)
                first = model->selected - room + 1;
        if (first + room > model->count)
                first = model->count > room ? model->count - room : 0;
        return first;
}

int view_rows(const struct view_frame *frame)
{
        const struct model *model = frame->model;
        size_t devices = 1 + model->now->device_count + (model->now->note[0] ? 1 : 0);

        return (int)(OTHER_ROWS - 1 + devices + 1 + (model->count ? model->count : 1));
}

void view_draw(struct grid *grid, const struct view_frame *frame, struct keys *keys, size_t *first)
{
        int most = frame->is_once ? grid->rows : (grid->rows - OTHER_ROWS) / 2;
        int row, rows;

        if (!frame->is_once && is_too_small(grid))
                return;
        if (keys->question == SHOWS_HELP) {
                draw_help(grid);
                return;
        }
        if (keys->question == SHOWS_EVENTS) {
                draw_events(grid, frame->events);
                return;
        }
        draw_header(grid, frame, keys);
        row = 1 + devices_draw(grid, frame, 1, most);
        draw_silence(grid, frame->model->now, row++);
        rows = grid->rows - row - (frame->is_once ? 0 : 1);
        keys->page_rows = rows - 1;
        *first = scroll(frame->model, *first, keys->page_rows > 0 ? (size_t)keys->page_rows : 1);
        sessions_draw(grid, frame, row, rows, *first);
        if (!frame->is_once)
                draw_last(grid, frame, keys);
}
