/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench/chart.h"

#include <errno.h>
#include <string.h>

#include "common/text.h"

#define STEPS 20 /* rows of five percent each, from the bottom to the top */
#define TOP_ROW 3
#define AXIS_ROW (TOP_ROW + STEPS + 1)
#define TABLE_ROW (AXIS_ROW + 3)
#define LEFT 6 /* first column of the drawing; the labels are to its left */
#define TICKS 5
#define FIGURE_WIDTH 12

/* First columns of the table's fields. */
enum { AT_MARK = 0, AT_WORD = 2, AT_PROMISED = 32, AT_DELIVERED = 44, AT_OFF = 56, AT_WORST = 68 };

static const uint16_t marks_utf8[MIX_SESSIONS] = { 0x25cf, 0x25cb, 0x25a0, 0x25a1,
                                                   0x25b2, 0x25b3, 0x25c6, 0x25c7 };
static const uint8_t colours[] = { GRID_CYAN, GRID_YELLOW, GRID_GREEN, GRID_RED };

static uint8_t looks_of(unsigned session)
{
        return colours[session % sizeof(colours)];
}

static uint16_t mark_of(const struct grid *grid, unsigned session)
{
        return grid->is_utf8 ? marks_utf8[session] : (uint16_t)('a' + session);
}

static void put_cell(const struct grid *grid, int row, int column, uint16_t character,
                     uint8_t looks)
{
        struct grid_cell *cell = grid_at(grid, row, column);

        if (cell)
                *cell = (struct grid_cell){ character, looks };
}

static double length_seconds(const struct record *record)
{
        return (double)record->period_ns * record->samples / 1e9;
}

/* -- The frame -------------------------------------------------------------------------------- */

static void draw_head(const struct record *record, struct grid *grid)
{
        const struct grid_place title = { 0, 0, grid->columns, GRID_BOLD },
                                about = { 1, 0, grid->columns, GRID_DIM };

        grid_text(grid, &title,
                  "Share of the GPU: delivered (marks) and promised (lines), in percent");
        grid_text(grid, &about, "%s, %s time, judged by %s, every %g ms", record->gpu,
                  record->clock, record_judge(record), (double)record->period_ns / 1e6);
}

static void draw_scale(struct grid *grid)
{
        for (int step = 0; step <= STEPS; step++) {
                const struct grid_place label = { TOP_ROW + STEPS - step, 0, LEFT - 2, GRID_DIM };
                char text[16];

                snprintf(text, sizeof(text), "%d", 100 * step / STEPS);
                if (step % 2 == 0)
                        grid_right(grid, &label, text);
                put_cell(grid, label.row, LEFT - 1,
                         grid->is_utf8 ? (step % 2 ? 0x2502 : 0x2524) : (step % 2 ? '|' : '+'),
                         GRID_DIM);
        }
}

static void draw_base(struct grid *grid)
{
        put_cell(grid, AXIS_ROW, LEFT - 1, grid->is_utf8 ? 0x2514 : '+', GRID_DIM);
        for (int column = LEFT; column < grid->columns; column++)
                put_cell(grid, AXIS_ROW, column, grid->is_utf8 ? 0x2500 : '-', GRID_DIM);
}

static void draw_times(const struct record *record, struct grid *grid)
{
        int width = grid->columns - LEFT - 1;

        for (int tick = 0; tick <= TICKS; tick++) {
                double at = length_seconds(record) * tick / TICKS;
                int column = LEFT + width * tick / TICKS;
                char text[24];
                int length = snprintf(text, sizeof(text), tick == TICKS ? "%.3g s" : "%.3g", at);
                const struct grid_place label = { AXIS_ROW + 1,
                                                  tick == TICKS ? grid->columns - length : column,
                                                  length, GRID_DIM };

                grid_text(grid, &label, "%s", text);
        }
}

static void draw_axes(const struct record *record, struct grid *grid)
{
        draw_scale(grid);
        draw_base(grid);
        draw_times(record, grid);
}

/* -- The lines -------------------------------------------------------------------------------- */

static int row_of(double share)
{
        double step = share * STEPS + 0.5;
        int rounded = step < 0 ? 0 : step > STEPS ? STEPS : (int)step;

        return TOP_ROW + STEPS - rounded;
}

/* Returns the samples that a column of the drawing shows. */
static void range_of(const struct record *record, const struct grid *grid, unsigned column,
                     unsigned *ret_from, unsigned *ret_until)
{
        unsigned width = (unsigned)(grid->columns - LEFT);

        *ret_from = column * record->samples / width;
        *ret_until = (column + 1) * record->samples / width;
        if (*ret_until <= *ret_from)
                *ret_until = *ret_from + 1;
}

static bool is_present(const struct mix_session *session, uint64_t from_ns, uint64_t until_ns)
{
        return until_ns > session->from_ns && from_ns < session->until_ns;
}

static void draw_session(const struct record *record, struct grid *grid, unsigned at,
                         bool is_promise)
{
        for (unsigned column = 0; column < (unsigned)(grid->columns - LEFT); column++) {
                unsigned from, until;
                double share;

                range_of(record, grid, column, &from, &until);
                if (!is_present(&record->mix.session[at], from * record->period_ns,
                                until * record->period_ns))
                        continue;
                share = is_promise ? record_promised(record, at, from, until)
                                   : record_delivered(record, at, from, until);
                put_cell(grid, row_of(share), LEFT + (int)column,
                         !is_promise     ? mark_of(grid, at)
                         : grid->is_utf8 ? 0x2500
                                         : '-',
                         (uint8_t)(looks_of(at) | (is_promise ? GRID_DIM : 0)));
        }
}

/* -- The table -------------------------------------------------------------------------------- */

static void put_figure(struct grid *grid, int row, int column, double percent, bool has_any)
{
        const struct grid_place place = { row, column, FIGURE_WIDTH - 2, GRID_PLAIN };
        char text[32] = "-";

        if (percent > -0.005 && percent < 0)
                percent = 0; /* avoids "-0.00" */
        if (has_any)
                snprintf(text, sizeof(text), "%.2f", percent);
        grid_right(grid, &place, text);
}

static void draw_titles(struct grid *grid)
{
        static const struct {
                int column;
                const char *title;
        } titles[] = { { AT_PROMISED, "PROMISED" },
                       { AT_DELIVERED, "DELIVERED" },
                       { AT_OFF, "OFF BY" },
                       { AT_WORST, "WORST 1 s" } };
        const struct grid_place word = { TABLE_ROW, AT_WORD, AT_PROMISED - AT_WORD, GRID_TITLE };

        grid_text(grid, &word, "SESSION");
        for (unsigned i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
                const struct grid_place place = { TABLE_ROW, titles[i].column, FIGURE_WIDTH - 2,
                                                  GRID_TITLE };

                grid_right(grid, &place, titles[i].title);
        }
}

static void draw_table(const struct record *record, struct grid *grid)
{
        draw_titles(grid);
        for (unsigned i = 0; i < record->mix.count; i++) {
                int row = TABLE_ROW + 1 + (int)i;
                const struct grid_place word = { row, AT_WORD, AT_PROMISED - AT_WORD, GRID_PLAIN };
                struct record_figures figures;

                record_figures(record, i, &figures);
                put_cell(grid, row, AT_MARK, mark_of(grid, i), looks_of(i));
                grid_text(grid, &word, "%s", record->mix.session[i].word);
                put_figure(grid, row, AT_PROMISED, 100 * figures.promised, figures.has_any);
                put_figure(grid, row, AT_DELIVERED, 100 * figures.delivered, figures.has_any);
                put_figure(grid, row, AT_OFF, 100 * (figures.delivered - figures.promised),
                           figures.has_any);
                put_figure(grid, row, AT_WORST, 100 * figures.worst_second,
                           figures.worst_second >= 0);
        }
}

static void draw_summary(const struct record *record, struct grid *grid)
{
        struct grid_place place = { TABLE_ROW + 2 + (int)record->mix.count, 0, grid->columns,
                                    GRID_PLAIN };
        struct record_summary summary;

        record_summarize(record, &summary);
        grid_text(grid, &place,
                  "Mean error %.2f points; fairness (Jain) %.5f; together %.2f %% of the GPU",
                  100 * summary.mean_error, summary.jain, 100 * summary.together);
        place.row++;
        grid_text(grid, &place,
                  "PROMISED to WORST leave out each session's first 0.5 s; together does not");
}

int chart_draw(const struct record *record, struct grid *grid)
{
        int rc = grid_begin(grid, TABLE_ROW + 4 + (int)record->mix.count, CHART_COLUMNS);

        if (rc < 0)
                return rc;
        draw_head(record, grid);
        draw_axes(record, grid);
        for (unsigned i = 0; i < record->mix.count; i++)
                draw_session(record, grid, i, true);
        for (unsigned i = 0; i < record->mix.count; i++)
                draw_session(record, grid, i, false);
        draw_table(record, grid);
        draw_summary(record, grid);
        return 0;
}

/* -- Colours ---------------------------------------------------------------------------------- */

static void begin_looks(uint8_t looks, FILE *stream)
{
        static const char *const codes[] = { "", ";32", ";33", ";31", ";36" };

        fprintf(stream, "\033[0%s%s%sm", codes[looks & GRID_COLOUR],
                looks & (GRID_BOLD | GRID_TITLE) ? ";1" : "", looks & GRID_DIM ? ";2" : "");
}

static void print_row(const struct grid *grid, int row, int end, FILE *stream)
{
        uint8_t looks = GRID_PLAIN;

        for (int i = 0; i < end; i++) {
                const struct grid_cell *cell = grid_at(grid, row, i);
                char bytes[5];

                if (cell->looks != looks && cell->character != ' ') {
                        looks = cell->looks;
                        begin_looks(looks, stream);
                }
                grid_encode(cell->character, bytes);
                fputs(bytes, stream);
        }
        fputs(looks == GRID_PLAIN ? "\n" : "\033[0m\n", stream);
}

void chart_print_coloured(const struct grid *grid, FILE *stream)
{
        for (int row = 0; row < grid->rows; row++) {
                int end = grid->columns;

                while (end > 0 && grid_at(grid, row, end - 1)->character == ' ')
                        end--;
                print_row(grid, row, end, stream);
        }
}
