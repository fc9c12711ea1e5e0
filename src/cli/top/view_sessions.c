/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/view_parts.h"

#include <string.h>

#include "common/text.h"
#include "common/units.h"

#define FULL_PERMILLE 950u
#define NEAR_PERMILLE 800u
#define SHORT_UUID 12 /* GPU- and 8 digits */
#define HOUR_SECONDS 3600u
#define DAY_SECONDS 86400u
#define LEFT_BYTES 16

enum { MARKS, SESSION, PROCESSES, USED, LIMIT, MEMORY, FILL, LINE, GPUS, LEFT, STATE, COLUMNS };

static const struct column columns_of_sessions[COLUMNS] = {
        [MARKS] = { "", .least = 2 },
        [SESSION] = { "SESSION", .least = 12, .most = 40, .weight = 3 },
        [PROCESSES] = { "PROC", .least = 5, .is_right = true, .rank = 2 },
        [USED] = { "USED", .least = 10, .is_right = true },
        [LIMIT] = { "LIMIT", .least = 10, .is_right = true },
        [MEMORY] = { "MEMORY", .least = 8, .most = 60, .weight = 4, .rank = 1 },
        [FILL] = { "FULL", .least = 5, .is_right = true, .rank = 3 },
        [LINE] = { "", .least = 6, .most = 48, .weight = 2, .rank = 6 },
        [GPUS] = { "GPU", .least = 5, .most = 12, .weight = 1, .rank = 5 },
        [LEFT] = { "LEFT", .least = 6, .is_right = true, .rank = 7 },
        [STATE] = { "STATE", .least = 6, .rank = 4 },
};

/* Which column is sorted by. */
static const unsigned sorted_column[SORT_KEYS] = {
        [SORT_NAME] = SESSION, [SORT_PROCESSES] = PROCESSES, [SORT_USED] = USED,
        [SORT_LIMIT] = LIMIT,  [SORT_FILL] = FILL,
};

struct line {
        struct grid *grid;
        const struct view_frame *frame;
        const struct columns *columns;
        int row;
};

static struct grid_place place_of(const struct line *line, unsigned at, uint8_t looks)
{
        return (struct grid_place){ line->row, line->columns->begin[at], line->columns->width[at],
                                    looks };
}

/* Up to the beginning of a column. */
static struct grid_place place_until(const struct line *line, unsigned from, unsigned until)
{
        int begin = line->columns->begin[from];

        return (struct grid_place){ line->row, begin, line->columns->begin[until] - begin - 1,
                                    GRID_PLAIN };
}

static uint8_t looks_of(unsigned permille)
{
        return permille >= FULL_PERMILLE   ? GRID_RED
               : permille >= NEAR_PERMILLE ? GRID_YELLOW
                                           : GRID_GREEN;
}

static void draw_bytes(const struct line *line, unsigned at, uint64_t bytes)
{
        struct grid_place place = place_of(line, at, GRID_PLAIN);
        char text[SIZE_TEXT_BYTES];

        grid_right(line->grid, &place, view_bytes(bytes, text));
}

static void draw_fill(const struct line *line, unsigned permille)
{
        struct grid_place bar = place_of(line, MEMORY, looks_of(permille));
        struct grid_place fill = place_of(line, FILL, GRID_PLAIN);
        char text[16];

        snprintf(text, sizeof(text), "%u%%", permille / 10);
        grid_bar(line->grid, &bar, permille, 0);
        grid_right(line->grid, &fill, text);
}

/* The indices of those GPUs on which it holds anything. */
static void draw_gpus(const struct line *line, const struct snapshot_session *session)
{
        const struct snapshot *now = line->frame->model->now;
        struct grid_place place = place_of(line, GPUS, GRID_PLAIN);
        char buffer[128];
        struct text text;

        text_begin(&text, buffer, sizeof(buffer));
        for (unsigned i = 0; i < session->share_count; i++) {
                const struct snapshot_share *share = &session->share[i];

                if (share->used_bytes && share->device >= 0 &&
                    now->device[share->device].index >= 0)
                        text_add(&text, "%s%d", text.used ? "," : "",
                                 now->device[share->device].index);
        }
        grid_text(line->grid, &place, "%s", text.used ? buffer : "-");
}

/* Six characters at most, of the two largest units; "" without an end. */
static const char *left_text(int64_t seconds, char ret[LEFT_BYTES])
{
        unsigned s = seconds > UINT32_MAX ? UINT32_MAX : seconds > 0 ? (unsigned)seconds : 0;

        if (seconds < 0)
                ret[0] = '\0';
        else if (s < 60)
                snprintf(ret, LEFT_BYTES, "%us", s);
        else if (s < HOUR_SECONDS)
                snprintf(ret, LEFT_BYTES, "%um%02us", s / 60, s % 60);
        else if (s < DAY_SECONDS)
                snprintf(ret, LEFT_BYTES, "%uh%02um", s / HOUR_SECONDS, s % HOUR_SECONDS / 60);
        else if (s < 100 * DAY_SECONDS)
                snprintf(ret, LEFT_BYTES, "%ud%02uh", s / DAY_SECONDS,
                         s % DAY_SECONDS / HOUR_SECONDS);
        else
                snprintf(ret, LEFT_BYTES, "%ud", s / DAY_SECONDS);
        return ret;
}

static void draw_session(const struct line *line, size_t at)
{
        const struct snapshot_session *session = &line->frame->model->now->session[at];
        const struct model_memory *memory = &line->frame->model->memory[at];
        struct grid_place name = place_of(line, SESSION, GRID_BOLD);
        struct grid_place processes = place_of(line, PROCESSES, GRID_PLAIN);
        struct grid_place limit = place_of(line, LIMIT, GRID_PLAIN);
        struct grid_place history = place_of(line, LINE, GRID_GREEN);
        struct grid_place left = place_of(line, LEFT, GRID_PLAIN);
        struct grid_place state = place_of(line, STATE, GRID_YELLOW);
        char count[16], time_left[LEFT_BYTES];
        uint64_t limit_bytes;

        grid_text(line->grid, &name, "%s", session->name);
        if (session->broken[0]) {
                struct grid_place why = { line->row, processes.column,
                                          line->grid->columns - processes.column, GRID_RED };

                grid_text(line->grid, &why, "%s", session->broken);
                return;
        }
        snprintf(count, sizeof(count), "%u", snapshot_processes(session));
        grid_right(line->grid, &processes, count);
        draw_bytes(line, USED, session->used_bytes);
        if (snapshot_limit(session, &limit_bytes))
                draw_bytes(line, LIMIT, limit_bytes);
        else
                grid_right(line->grid, &limit, "mixed");
        draw_fill(line, snapshot_fill(session));
        grid_history(line->grid, &history, &memory->used);
        draw_gpus(line, session);
        grid_right(line->grid, &left, left_text(session->left_seconds, time_left));
        grid_text(line->grid, &state, "%s",
                  session->is_ending ? "ending"
                  : session->is_held ? "held"
                                     : "");
}

/* "GPU 1", or the beginning of its UUID where it has no index here. */
static const char *gpu_name(const struct line *line, const struct snapshot_share *share,
                            char ret[UUID_TEXT_BYTES])
{
        const struct snapshot *now = line->frame->model->now;

        if (share->device >= 0 && now->device[share->device].index >= 0) {
                snprintf(ret, UUID_TEXT_BYTES, "GPU %d", now->device[share->device].index);
                return ret;
        }
        uuid_format(share->uuid, false, ret);
        ret[SHORT_UUID] = '\0';
        return ret;
}

/* "ends in 7h59m, then deny-new  owner=ann team=b" */
static void draw_terms(const struct line *line, const struct snapshot_session *session)
{
        int begin = line->columns->begin[SESSION];
        struct grid_place place = { line->row, begin, line->grid->columns - begin, GRID_DIM };
        char left[LEFT_BYTES], end[64] = "";

        if (session->is_ending)
                snprintf(end, sizeof(end), "ending: %s  ", session->on_end);
        else if (session->left_seconds >= 0)
                snprintf(end, sizeof(end), "ends in %s, then %s  ",
                         left_text(session->left_seconds, left), session->on_end);
        grid_text(line->grid, &place, "   %s%s", end, session->labels);
}

static void draw_share(const struct line *line, const struct snapshot_share *share)
{
        struct grid_place place = place_until(line, SESSION, USED);
        char name[UUID_TEXT_BYTES];

        grid_text(line->grid, &place, "   %s", gpu_name(line, share, name));
        draw_bytes(line, USED, share->used_bytes);
        draw_bytes(line, LIMIT, share->limit_bytes);
        draw_fill(line, snapshot_permille(share->used_bytes, snapshot_share_whole(share)));
}

/* "train  GPU 0 1 GiB, GPU 1 512 MiB": where more than one GPU is held, what of each. */
static void draw_command(const struct line *line, const struct snapshot_session *session,
                         const struct snapshot_process *process)
{
        int begin = line->columns->begin[LIMIT];
        struct grid_place place = { line->row, begin, line->grid->columns - begin, GRID_PLAIN };
        char buffer[512], size[SIZE_TEXT_BYTES], name[UUID_TEXT_BYTES];
        struct text text;
        unsigned held = 0, told = 0;

        text_begin(&text, buffer, sizeof(buffer));
        text_add(&text, "%s", process->said.command);
        for (unsigned i = 0; i < session->share_count; i++)
                held += process->said.bytes[session->share[i].row] > 0;
        for (unsigned i = 0; held > 1 && i < session->share_count; i++) {
                const struct snapshot_share *share = &session->share[i];
                uint64_t bytes = process->said.bytes[share->row];

                if (bytes)
                        text_add(&text, "%s %s %s", told++ ? "," : " ", gpu_name(line, share, name),
                                 size_format(bytes, size));
        }
        grid_text(line->grid, &place, "%s", buffer);
}

static void draw_process(const struct line *line, const struct snapshot_session *session,
                         const struct snapshot_process *process)
{
        struct grid_place place = place_until(line, SESSION, USED);

        if (process->pid)
                grid_text(line->grid, &place, "%8u %s", process->pid, process->user);
        else
                grid_text(line->grid, &place, "%8s %s", "?", process->user);
        draw_bytes(line, USED, process->bytes);
        draw_command(line, session, process);
}

static void draw_marks(const struct line *line, const struct model_row *row, bool is_selected)
{
        static const char *const utf8[] = { "+", "-" };
        struct grid_place place = { line->row, 0, 1, GRID_PLAIN };
        bool is_open = line->frame->model->memory[row->session].is_open;

        grid_text(line->grid, &place, "%s", is_selected ? ">" : "");
        place.column = 1;
        if (row->kind == MODEL_SESSION)
                grid_text(line->grid, &place, "%s", utf8[is_open]);
}

static void draw_row(const struct line *line, size_t at)
{
        const struct model *model = line->frame->model;
        const struct model_row *row = &model->row[at];
        const struct snapshot_session *session = &model->now->session[row->session];
        bool is_selected = at == model->selected && !line->frame->is_once;

        if (row->kind == MODEL_SESSION)
                draw_session(line, row->session);
        else if (row->kind == MODEL_TERMS)
                draw_terms(line, session);
        else if (row->kind == MODEL_SHARE)
                draw_share(line, &session->share[row->at]);
        else
                draw_process(line, session, &session->process[row->at]);
        draw_marks(line, row, is_selected);
        if (is_selected)
                grid_mark(line->grid, line->row, GRID_SELECTED);
}

static void draw_nothing(const struct line *line)
{
        struct grid_place place = place_of(line, SESSION, GRID_DIM);
        const char *filter = line->frame->model->filter;

        place.width = line->grid->columns - place.column;
        if (filter[0])
                grid_text(line->grid, &place, "nothing here matches %s", filter);
        else
                grid_text(line->grid, &place,
                          "no session; aliquot run --memory 4GiB -- program makes one");
}

static void draw_titles(const struct line *line, const struct column *column)
{
        const struct model *model = line->frame->model;
        unsigned at = sorted_column[model->sort];
        struct grid_place place = place_of(line, at, GRID_TITLE | GRID_BOLD);
        bool is_up = (model->sort == SORT_NAME) != model->is_reversed;
        char text[32];

        view_titles(line->grid, line->row, column, line->columns);
        snprintf(text, sizeof(text), "%s%c", column[at].title, is_up ? '^' : 'v');
        if (column[at].is_right)
                grid_right(line->grid, &place, text);
        else
                grid_text(line->grid, &place, "%s", text);
}

static bool has_ends(const struct snapshot *now)
{
        for (size_t i = 0; i < now->session_count; i++) {
                if (now->session[i].left_seconds >= 0)
                        return true;
        }
        return false;
}

void sessions_draw(struct grid *grid, const struct view_frame *frame, int row, int rows,
                   size_t first)
{
        struct column column[COLUMNS];
        struct columns columns;
        struct line line = { grid, frame, &columns, row };

        for (unsigned i = 0; i < COLUMNS; i++)
                column[i] = columns_of_sessions[i];
        if (frame->is_once)
                column[LINE].most = column[LINE].least = 0;
        if (!has_ends(frame->model->now))
                column[LEFT].least = 0;
        columns_fit(&columns, column, COLUMNS, grid->columns);
        draw_titles(&line, column);
        line.row++;
        if (frame->model->count == 0 && rows > 1)
                draw_nothing(&line);
        for (size_t i = first; i < frame->model->count && line.row < row + rows; i++, line.row++)
                draw_row(&line, i);
}
