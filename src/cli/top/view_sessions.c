/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of sessions in top (view_parts.h): one line for each session and, below an opened
 * session, lines for its GPUs and processes.
 *
 * The model (model.h) decides which lines there are and which is selected; this file only draws
 * them from `first` on. A session that cannot be read is one line with the reason.
 */
#include "cli/top/view_parts.h"

#include <string.h>

#include "common/text.h"
#include "common/units.h"
#include "settings/resolve.h"

#define FULL_PERMILLE 950u
#define NEAR_PERMILLE 800u
#define HOUR_SECONDS 3600u
#define DAY_SECONDS 86400u
#define LEFT_BYTES 16

/* Returns the part of a line from one column to the beginning of another. */
static struct grid_place place_until(const struct view_line *line, unsigned from, unsigned until)
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

static void draw_bytes(const struct view_line *line, unsigned at, uint64_t bytes)
{
        struct grid_place place = view_place(line, at, GRID_PLAIN);
        char text[SIZE_TEXT_BYTES];

        grid_right(line->grid, &place, view_bytes(bytes, text));
}

static void draw_fill(const struct view_line *line, unsigned permille)
{
        struct grid_place bar = view_place(line, SESSIONS_MEMORY, looks_of(permille));
        struct grid_place fill = view_place(line, SESSIONS_FILL, GRID_PLAIN);
        char text[16];

        snprintf(text, sizeof(text), "%u%%", permille / 10);
        grid_bar(line->grid, &bar, permille, 0);
        grid_right(line->grid, &fill, text);
}

/* Draws the indices of the GPUs on which the session holds memory. */
static void draw_gpus(const struct view_line *line, const struct snapshot_session *session)
{
        const struct snapshot *now = line->frame->model->now;
        struct grid_place place = view_place(line, SESSIONS_GPUS, GRID_PLAIN);
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

/* Returns the remaining time in at most six characters, with its two largest units; "" if there is
 * no end. */
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

static void draw_limit_bytes(const struct view_line *line, uint64_t bytes)
{
        draw_bytes(line, SESSIONS_LIMIT, settings_told_bytes(bytes));
}

static void draw_limit(const struct view_line *line, const struct snapshot_session *session)
{
        struct grid_place place = view_place(line, SESSIONS_LIMIT, GRID_PLAIN);
        uint64_t limit_bytes;

        if (snapshot_limit(session, &limit_bytes))
                draw_limit_bytes(line, limit_bytes);
        else
                grid_right(line->grid, &place, "mixed");
}

static const char *state_of(const struct model *model, size_t at)
{
        const struct snapshot_session *session = &model->now->session[at];
        const char *state = "";

        if (session->is_ending)
                return "ending";
        if (session->is_held)
                return "held";
        if (session->is_clamped)
                return "clamped";
        if (session->is_reported)
                return "reported";
        for (unsigned i = 0; i < session->share_count && !state[0]; i++)
                state = time_state(&session->share[i], model_pace(model, at, i));
        return state;
}

static void draw_state(const struct view_line *line, const char *state)
{
        struct grid_place place = view_place(line, SESSIONS_STATE, GRID_YELLOW);

        grid_text(line->grid, &place, "%s", state);
}

static void draw_session_time(const struct view_line *line, size_t at)
{
        const struct model *model = line->frame->model;
        const struct pace_figures figures = { .had = model_had(model, at),
                                              .waited = model_waited(model, at) };
        struct grid_place history = view_place(line, SESSIONS_TIME_LINE, GRID_CYAN);

        time_draw(line, model_told_share(model, at), &figures);
        grid_history(line->grid, &history, &model->memory[at].had);
}

static void draw_session(const struct view_line *line, size_t at)
{
        const struct model *model = line->frame->model;
        const struct snapshot_session *session = &model->now->session[at];
        struct grid_place name = view_place(line, SESSIONS_NAME, GRID_BOLD);
        struct grid_place processes = view_place(line, SESSIONS_PROCESSES, GRID_PLAIN);
        struct grid_place history = view_place(line, SESSIONS_LINE, GRID_GREEN);
        struct grid_place left = view_place(line, SESSIONS_LEFT, GRID_PLAIN);
        char count[16], time_left[LEFT_BYTES];

        grid_text(line->grid, &name, "%s", session->name);
        if (session->broken[0]) {
                struct grid_place why = { line->row, processes.column,
                                          line->grid->columns - processes.column, GRID_RED };

                grid_text(line->grid, &why, "%s", session->broken);
                return;
        }
        snprintf(count, sizeof(count), "%u", snapshot_processes(session));
        grid_right(line->grid, &processes, count);
        draw_bytes(line, SESSIONS_USED, session->used_bytes);
        draw_limit(line, session);
        draw_fill(line, snapshot_fill(session));
        grid_history(line->grid, &history, &model->memory[at].used);
        draw_session_time(line, at);
        draw_gpus(line, session);
        grid_right(line->grid, &left, left_text(session->left_seconds, time_left));
        draw_state(line, state_of(model, at));
}

/* Returns "GPU 1", or the beginning of the UUID of a GPU that has no index on this machine. */
static const char *gpu_name(const struct view_line *line, const struct snapshot_share *share,
                            char ret[UUID_TEXT_BYTES])
{
        const struct snapshot *now = line->frame->model->now;

        if (share->device >= 0 && now->device[share->device].index >= 0) {
                snprintf(ret, UUID_TEXT_BYTES, "GPU %d", now->device[share->device].index);
                return ret;
        }
        uuid_format(share->uuid, false, ret);
        ret[VIEW_SHORT_UUID] = '\0';
        return ret;
}

/* Draws the session's terms: "ends in 7h59m, then deny-new  owner=ann team=b". */
static void draw_terms(const struct view_line *line, const struct snapshot_session *session)
{
        int begin = line->columns->begin[SESSIONS_NAME];
        struct grid_place place = { line->row, begin, line->grid->columns - begin, GRID_DIM };
        char left[LEFT_BYTES], end[64] = "";

        if (session->is_ending)
                snprintf(end, sizeof(end), "ending: %s  ", session->on_end);
        else if (session->left_seconds >= 0)
                snprintf(end, sizeof(end), "ends in %s, then %s  ",
                         left_text(session->left_seconds, left), session->on_end);
        grid_text(line->grid, &place, "   %s%s", end, session->labels);
}

/* Draws the terms of GPU time: "GPU time: at most 30%, weight 100, normal, accuracy=exact". */
static void draw_rank(const struct view_line *line, size_t at)
{
        int begin = line->columns->begin[SESSIONS_NAME];
        struct grid_place place = { line->row, begin, line->grid->columns - begin, GRID_DIM };
        char buffer[160];
        struct text text;

        text_begin(&text, buffer, sizeof(buffer));
        time_tell(&text, line->frame->model, at);
        grid_text(line->grid, &place, "   %s", buffer);
}

static void draw_share(const struct view_line *line, size_t session, unsigned at)
{
        const struct model *model = line->frame->model;
        const struct snapshot_share *share = &model->now->session[session].share[at];
        const struct pace *pace = model_pace(model, session, at);
        struct grid_place place = place_until(line, SESSIONS_NAME, SESSIONS_USED);
        char name[UUID_TEXT_BYTES];

        grid_text(line->grid, &place, "   %s", gpu_name(line, share, name));
        draw_bytes(line, SESSIONS_USED, share->used_bytes);
        draw_limit_bytes(line, share->limit_bytes);
        draw_fill(line, snapshot_permille(share->used_bytes, snapshot_share_whole(share)));
        time_draw(line, share, &pace->figures);
        draw_state(line, time_state(share, pace));
}

/* Draws a process's command and, if it holds memory of several GPUs, how much of each: "train GPU 0
 * 1 GiB, GPU 1 512 MiB". */
static void draw_command(const struct view_line *line, const struct snapshot_session *session,
                         const struct snapshot_process *process)
{
        int begin = line->columns->begin[SESSIONS_LIMIT];
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

static void draw_process(const struct view_line *line, const struct snapshot_session *session,
                         const struct snapshot_process *process)
{
        struct grid_place place = place_until(line, SESSIONS_NAME, SESSIONS_USED);

        if (process->pid)
                grid_text(line->grid, &place, "%8u %s", process->pid, process->user);
        else
                grid_text(line->grid, &place, "%8s %s", "?", process->user);
        draw_bytes(line, SESSIONS_USED, process->bytes);
        draw_command(line, session, process);
}

static void draw_marks(const struct view_line *line, const struct model_row *row, bool is_selected)
{
        static const char *const utf8[] = { "+", "-" };
        struct grid_place place = { line->row, 0, 1, GRID_PLAIN };
        bool is_open = line->frame->model->memory[row->session].is_open;

        grid_text(line->grid, &place, "%s", is_selected ? ">" : "");
        place.column = 1;
        if (row->kind == MODEL_SESSION)
                grid_text(line->grid, &place, "%s", utf8[is_open]);
}

static void draw_row(const struct view_line *line, size_t at)
{
        const struct model *model = line->frame->model;
        const struct model_row *row = &model->row[at];
        const struct snapshot_session *session = &model->now->session[row->session];
        bool is_selected = at == model->selected && !line->frame->is_once;

        if (row->kind == MODEL_SESSION)
                draw_session(line, row->session);
        else if (row->kind == MODEL_TERMS)
                draw_terms(line, session);
        else if (row->kind == MODEL_TIME)
                draw_rank(line, row->session);
        else if (row->kind == MODEL_SHARE)
                draw_share(line, row->session, row->at);
        else
                draw_process(line, session, &session->process[row->at]);
        draw_marks(line, row, is_selected);
        if (is_selected)
                grid_mark(line->grid, line->row, GRID_SELECTED);
}

static void draw_nothing(const struct view_line *line)
{
        struct grid_place place = view_place(line, SESSIONS_NAME, GRID_DIM);
        const char *filter = line->frame->model->filter;

        place.width = line->grid->columns - place.column;
        if (filter[0])
                grid_text(line->grid, &place, "nothing here matches %s", filter);
        else
                grid_text(line->grid, &place,
                          "no session; aliquot run --memory 4GiB -- program makes one");
}

static void draw_titles(const struct view_line *line, const struct layout *layout)
{
        const struct model *model = line->frame->model;
        const struct column *sorted = &layout->column[layout->sorted];
        struct grid_place place = view_place(line, layout->sorted, GRID_TITLE | GRID_BOLD);
        bool is_up = (model->sort == SORT_NAME) != model->is_reversed;
        char text[32];

        view_titles(line->grid, line->row, layout->column, line->columns);
        snprintf(text, sizeof(text), "%s%c", sorted->title, is_up ? '^' : 'v');
        if (sorted->is_right)
                grid_right(line->grid, &place, text);
        else
                grid_text(line->grid, &place, "%s", text);
}

void sessions_draw(struct grid *grid, const struct view_frame *frame, int row, int rows,
                   size_t first)
{
        struct layout layout;
        struct view_line line = { grid, frame, &layout.columns, row };

        layout_fit(&layout, frame, grid->columns);
        draw_titles(&line, &layout);
        line.row++;
        if (frame->model->count == 0 && rows > 1)
                draw_nothing(&line);
        for (size_t i = first; i < frame->model->count && line.row < row + rows; i++, line.row++)
                draw_row(&line, i);
}
