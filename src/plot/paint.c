/* SPDX-License-Identifier: Apache-2.0 */
#include "plot/paint.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/text.h"

#define WIDTH 960
#define HEIGHT 400
#define LEFT 62.0
#define RIGHT (WIDTH - 24.0)
#define BOTTOM (HEIGHT - 72.0)
#define LEGEND 67.0 /* y of the legend's first row */
#define LEGEND_ROW 19.0
#define LEGEND_GAP 22.0 /* distance between two names in a row of the legend */
#define SAMPLE 26.0     /* length of the sample of a line in the legend */
#define TICKS_MAX 11
#define MARK 4.5
#define FONT "sans-serif"
#define MIN_SIZE 8
#define MARGIN 16

/* Colours that colour-blind readers can distinguish too (Okabe and Ito's). */
static const double colours[][3] = {
        { 0.00, 0.45, 0.70 }, { 0.84, 0.37, 0.00 }, { 0.00, 0.62, 0.45 }, { 0.80, 0.47, 0.65 },
        { 0.34, 0.71, 0.91 }, { 0.90, 0.62, 0.00 }, { 0.00, 0.00, 0.00 }, { 0.55, 0.55, 0.55 },
};

static void set_colour(cairo_t *page, unsigned number)
{
        const double *colour = colours[number % (sizeof(colours) / sizeof(colours[0]))];

        cairo_set_source_rgb(page, colour[0], colour[1], colour[2]);
}

/* -- Text ------------------------------------------------------------------------------------- */

/* How to write a text. */
struct writing {
        double size, grey;
        bool is_bold;
        /* which part of the text is at its x: 0 the left end, 0.5 the middle, 1 the right end */
        double align;
};

static double width_of(cairo_t *page, const char *text)
{
        cairo_text_extents_t extents;

        cairo_text_extents(page, text, &extents);
        return extents.x_advance;
}

static void write_at(cairo_t *page, double x, double y, const struct writing *how, const char *text)
{
        cairo_select_font_face(page, FONT, CAIRO_FONT_SLANT_NORMAL,
                               how->is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
        cairo_set_font_size(page, how->size);
        cairo_set_source_rgb(page, how->grey, how->grey, how->grey);
        cairo_move_to(page, x - how->align * width_of(page, text), y);
        cairo_show_text(page, text);
}

/* Returns the largest size, up to how->size, with which the text fits into `width`. */
static double size_within(cairo_t *page, double width, const struct writing *how, const char *text)
{
        double size = how->size;

        cairo_select_font_face(page, FONT, CAIRO_FONT_SLANT_NORMAL,
                               how->is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
        for (;; size--) {
                cairo_set_font_size(page, size);
                if (size <= MIN_SIZE || width_of(page, text) <= width)
                        return size;
        }
}

/* Writes a text that begins at the left margin, in a size with which it ends before the
 * right margin. */
static void write_across(cairo_t *page, double y, struct writing how, const char *text)
{
        how.size = size_within(page, WIDTH - 2 * MARGIN, &how, text);
        write_at(page, MARGIN, y, &how, text);
}

/* The figure, and the y at which its plot begins: below the legend. */
struct area {
        const struct figure *figure;
        double top;
};

/* -- Axes ------------------------------------------------------------------------------------- */

static double x_of(const struct area *area, double x)
{
        const struct figure_axis *axis = &area->figure->x;

        return LEFT + (RIGHT - LEFT) * (x - axis->from) / (axis->to - axis->from);
}

static double y_of(const struct area *area, double y)
{
        const struct figure_axis *axis = &area->figure->y;

        return BOTTOM - (BOTTOM - area->top) * (y - axis->from) / (axis->to - axis->from);
}

/* Returns the distance between ticks: 1, 2 or 5 times a power of ten, so that there are at most
 * about TICKS_MAX. */
static double step_of(const struct figure_axis *axis)
{
        double least = (axis->to - axis->from) / axis->unit / TICKS_MAX;
        double power = pow(10, floor(log10(least)));
        static const double parts[] = { 1, 2, 5, 10 };

        for (unsigned i = 0; i < 4; i++) {
                if (power * parts[i] >= least)
                        return power * parts[i] * axis->unit;
        }
        return power * 10 * axis->unit;
}

static void rule(cairo_t *page, double x1, double y1, double x2, double y2)
{
        cairo_move_to(page, floor(x1) + 0.5, floor(y1) + 0.5);
        cairo_line_to(page, floor(x2) + 0.5, floor(y2) + 0.5);
        cairo_stroke(page);
}

static void draw_tick(cairo_t *page, const struct area *area, double at, bool is_x)
{
        const struct figure_axis *axis = is_x ? &area->figure->x : &area->figure->y;
        const struct writing how = { .size = 12, .grey = 0.25, .align = is_x ? 0.5 : 1 };
        char text[32];

        snprintf(text, sizeof(text), "%.6g", at / axis->unit);
        cairo_set_source_rgb(page, 0.88, 0.88, 0.88);
        if (is_x) {
                rule(page, x_of(area, at), area->top, x_of(area, at), BOTTOM);
                write_at(page, x_of(area, at), BOTTOM + 17, &how, text);
        } else {
                rule(page, LEFT, y_of(area, at), RIGHT, y_of(area, at));
                write_at(page, LEFT - 7, y_of(area, at) + 4, &how, text);
        }
}

static void draw_axes(cairo_t *page, const struct area *area)
{
        const struct figure *figure = area->figure;
        const struct writing label = { .size = 12, .grey = 0.25, .align = 0.5 };

        cairo_set_line_width(page, 1);
        for (unsigned is_x = 0; is_x < 2; is_x++) {
                const struct figure_axis *axis = is_x ? &figure->x : &figure->y;
                double step = step_of(axis), first = ceil(axis->from / step) * step;

                for (unsigned i = 0; first + i * step <= axis->to + step / 1000; i++)
                        draw_tick(page, area, first + i * step, is_x);
        }
        cairo_set_source_rgb(page, 0.4, 0.4, 0.4);
        rule(page, LEFT, area->top, LEFT, BOTTOM);
        rule(page, LEFT, BOTTOM, RIGHT, BOTTOM);
        write_at(page, (LEFT + RIGHT) / 2, BOTTOM + 36, &label, figure->x.label);
        cairo_save(page);
        cairo_translate(page, 18, (area->top + BOTTOM) / 2);
        cairo_rotate(page, -M_PI / 2);
        write_at(page, 0, 0, &label, figure->y.label);
        cairo_restore(page);
}

/* -- Lines ------------------------------------------------------------------------------------ */

static void outline_mark(cairo_t *page, double x, double y, enum figure_style style)
{
        cairo_new_path(page);
        switch (style) {
        case FIGURE_SQUARES:
                cairo_rectangle(page, x - MARK, y - MARK, 2 * MARK, 2 * MARK);
                break;
        case FIGURE_DIAMONDS:
                cairo_move_to(page, x, y - MARK - 1);
                cairo_line_to(page, x + MARK + 1, y);
                cairo_line_to(page, x, y + MARK + 1);
                cairo_line_to(page, x - MARK - 1, y);
                cairo_close_path(page);
                break;
        case FIGURE_CROSSES:
                cairo_move_to(page, x - MARK, y - MARK);
                cairo_line_to(page, x + MARK, y + MARK);
                cairo_move_to(page, x - MARK, y + MARK);
                cairo_line_to(page, x + MARK, y - MARK);
                break;
        default:
                cairo_arc(page, x, y, MARK, 0, 2 * M_PI);
        }
}

static void draw_mark(cairo_t *page, double x, double y, const struct figure_line *line)
{
        cairo_set_line_width(page, 1.8);
        set_colour(page, line->colour);
        outline_mark(page, x, y, line->style);
        if (line->style == FIGURE_DISCS)
                cairo_fill(page);
        else
                cairo_stroke(page);
}

static void set_stroke(cairo_t *page, const struct figure_line *line)
{
        static const double dashes[] = { 6, 4 };
        bool is_dashed = line->style == FIGURE_DASHES;

        set_colour(page, line->colour);
        cairo_set_line_width(page, is_dashed ? 1.2 : 1.8);
        cairo_set_dash(page, dashes, is_dashed ? 2 : 0, 0);
}

static void draw_line(cairo_t *page, const struct area *area, const struct figure_line *line)
{
        bool is_line = line->style == FIGURE_LINE || line->style == FIGURE_DASHES;

        cairo_new_path(page);
        for (size_t i = 0; i + 1 < line->count; i += 2) {
                double x = x_of(area, line->at[i]), y = y_of(area, line->at[i + 1]);

                if (is_line)
                        cairo_line_to(page, x, y);
                else
                        draw_mark(page, x, y, line);
        }
        if (!is_line)
                return;
        set_stroke(page, line);
        cairo_stroke(page);
        cairo_set_dash(page, NULL, 0, 0);
}

static void draw_lines(cairo_t *page, const struct area *area)
{
        cairo_save(page);
        cairo_rectangle(page, LEFT - MARK - 2, area->top - MARK - 2, RIGHT - LEFT + 2 * MARK + 4,
                        BOTTOM - area->top + 2 * MARK + 4);
        cairo_clip(page);
        for (unsigned i = 0; i < area->figure->line_count; i++)
                draw_line(page, area, &area->figure->line[i]);
        cairo_restore(page);
}

/* -- The legend ------------------------------------------------------------------------------- */

static void draw_sample(cairo_t *page, double x, double y, const struct figure_line *line)
{
        if (line->style != FIGURE_LINE && line->style != FIGURE_DASHES) {
                draw_mark(page, x + SAMPLE / 2, y, line);
                return;
        }
        cairo_new_path(page);
        cairo_move_to(page, x, y);
        cairo_line_to(page, x + SAMPLE, y);
        set_stroke(page, line);
        cairo_stroke(page);
        cairo_set_dash(page, NULL, 0, 0);
}

/* Writes the names of the lines in rows below the title. Returns the y at which the plot can
 * begin. */
static double draw_legend(cairo_t *page, const struct figure *figure)
{
        double x = LEFT, y = LEGEND;

        for (unsigned i = 0; i < figure->line_count; i++) {
                const struct figure_line *line = &figure->line[i];
                struct writing how = { .size = 12, .grey = 0.1 };
                double width;

                if (!line->name[0])
                        continue;
                how.size = size_within(page, RIGHT - LEFT - SAMPLE - 7, &how, line->name);
                width = SAMPLE + 7 + width_of(page, line->name);
                if (x > LEFT && x + width > RIGHT) {
                        x = LEFT;
                        y += LEGEND_ROW;
                }
                draw_sample(page, x, y - 4, line);
                write_at(page, x + SAMPLE + 7, y, &how, line->name);
                x += width + LEGEND_GAP;
        }
        return y + (x > LEFT ? 14 : -8);
}

static cairo_surface_t *new_surface(const char *path)
{
        size_t length = strlen(path);

        if (length > 4 && strcmp(path + length - 4, ".svg") == 0)
                return cairo_svg_surface_create(path, WIDTH, HEIGHT);
        return cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
}

int paint_file(const struct figure *figure, const char *path, struct error *err)
{
        const struct writing title = { .size = 16, .grey = 0, .is_bold = true };
        const struct writing about = { .size = 12, .grey = 0.35 };
        struct area area = { .figure = figure };
        cairo_surface_t *surface = new_surface(path);
        cairo_t *page = cairo_create(surface);
        cairo_status_t status;

        cairo_set_source_rgb(page, 1, 1, 1);
        cairo_paint(page);
        write_across(page, 25, title, figure->title);
        write_across(page, 44, about, figure->about);
        area.top = draw_legend(page, figure);
        draw_axes(page, &area);
        draw_lines(page, &area);
        write_across(page, HEIGHT - 12, about, figure->note);
        status = cairo_status(page);
        if (status == CAIRO_STATUS_SUCCESS &&
            cairo_surface_get_type(surface) == CAIRO_SURFACE_TYPE_IMAGE)
                status = cairo_surface_write_to_png(surface, path);
        cairo_destroy(page);
        cairo_surface_finish(surface);
        if (status == CAIRO_STATUS_SUCCESS)
                status = cairo_surface_status(surface);
        cairo_surface_destroy(surface);
        if (status == CAIRO_STATUS_SUCCESS)
                return 0;
        return fail(err, -EIO, "%s: %s", text_shown(path), cairo_status_to_string(status));
}
