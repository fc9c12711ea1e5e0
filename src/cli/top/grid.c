/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/grid.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/minmax.h"
#include "common/text.h"

#define LEVELS 8u

static const uint16_t line_utf8[] = {
        0x2581, 0x2582, 0x2583, 0x2584, 0x2585, 0x2586, 0x2587, 0x2588
};
static const char line_ascii[] = "_.:-=+*#";

int grid_begin(struct grid *grid, int rows, int columns)
{
        size_t cells = (size_t)rows * (size_t)columns;

        if (grid->rows != rows || grid->columns != columns || !grid->cell) {
                void *cell = reallocarray(grid->cell, cells ? cells : 1, sizeof(*grid->cell));

                if (!cell)
                        return -ENOMEM;
                grid->cell = cell;
                grid->rows = rows;
                grid->columns = columns;
        }
        for (size_t i = 0; i < cells; i++)
                grid->cell[i] = (struct grid_cell){ ' ', GRID_PLAIN };
        return 0;
}

void grid_finish(struct grid *grid)
{
        free(grid->cell);
        *grid = (struct grid){ 0 };
}

struct grid_cell *grid_at(const struct grid *grid, int row, int column)
{
        if (row < 0 || row >= grid->rows || column < 0 || column >= grid->columns)
                return NULL;
        return &grid->cell[(size_t)row * (size_t)grid->columns + (size_t)column];
}

static void put_character(struct grid *grid, const struct grid_place *place, int at,
                          uint32_t character, uint8_t looks)
{
        struct grid_cell *cell = grid_at(grid, place->row, place->column + at);

        if (cell && at < place->width)
                *cell = (struct grid_cell){ character, looks };
}

/* -- Text ------------------------------------------------------------------------------------- */

/* The cells that show one character of a text. */
struct glyph {
        uint32_t character;
        int width;       /* in cells; 0: it is not shown */
        char escape[12]; /* shown instead of the character, one cell for each letter; "": none */
};

/* Reads one character. Returns its length in bytes. */
static unsigned read_glyph(const struct grid *grid, const char *at, struct glyph *ret)
{
        unsigned length = text_utf8(at);

        *ret = (struct glyph){ .character = '?', .width = 1 };
        if (!length || text_is_control(*at)) {
                snprintf(ret->escape, sizeof(ret->escape), "\\x%02x", (unsigned char)*at);
                length = 1;
        } else if (length == 1) {
                ret->character = (unsigned char)*at;
        } else if (grid->is_utf8) {
                ret->character = text_point(at, length);
                ret->width = wcwidth((wchar_t)ret->character);
                if (ret->width < 0 || text_is_hidden(ret->character))
                        snprintf(ret->escape, sizeof(ret->escape), "\\u%04x", ret->character);
        }
        if (ret->escape[0])
                ret->width = (int)strlen(ret->escape);
        return length;
}

static int width_of(const struct grid *grid, const char *text)
{
        struct glyph glyph;
        int width = 0;

        while (*text) {
                text += read_glyph(grid, text, &glyph);
                width += glyph.width;
        }
        return width;
}

static void put_glyph(struct grid *grid, const struct grid_place *place, int at,
                      const struct glyph *glyph)
{
        for (int i = 0; i < glyph->width; i++) {
                uint32_t character = glyph->escape[0] ? (unsigned char)glyph->escape[i]
                                     : i == 0         ? glyph->character
                                                      : 0;

                put_character(grid, place, at + i, character, place->looks);
        }
}

/* Draws a text. If it is cut, the last cell shows that. Half of a wide character is never drawn. */
static void put_text(struct grid *grid, const struct grid_place *place, const char *text,
                     int indent)
{
        bool is_cut = width_of(grid, text) > place->width - indent;
        int end = place->width - (is_cut ? 1 : 0), at = indent;
        struct glyph glyph;

        for (int i = 0; i < place->width; i++)
                put_character(grid, place, i, ' ', place->looks);
        for (; *text && at < end; at += glyph.width) {
                text += read_glyph(grid, text, &glyph);
                if (at + glyph.width > end && !glyph.escape[0])
                        break;
                put_glyph(grid, place, at, &glyph);
        }
        if (is_cut && place->width > indent)
                put_character(grid, place, place->width - 1, grid->is_utf8 ? 0x2026 : '~',
                              place->looks);
}

void grid_text(struct grid *grid, const struct grid_place *place, const char *format, ...)
{
        char text[1024];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        put_text(grid, place, text, 0);
}

void grid_right(struct grid *grid, const struct grid_place *place, const char *text)
{
        int width = width_of(grid, text);

        put_text(grid, place, text, width < place->width ? place->width - width : 0);
}

/* Returns the number of cells, rounded. A value above 0 gets at least one cell, and a value below
 * the whole leaves at least one cell free. */
static int cells_of(unsigned permille, int cells)
{
        int count = (int)((permille * (unsigned)cells + 500) / 1000);

        if (count == 0 && permille > 0)
                return 1;
        if (count == cells && permille < 1000)
                return cells - 1;
        return count;
}

void grid_bar(struct grid *grid, const struct grid_place *place, unsigned first, unsigned second)
{
        static const uint16_t utf8[] = { 0x2588, 0x2592, 0x00b7 }, ascii[] = { '#', '=', '.' };
        const uint16_t *parts = grid->is_utf8 ? utf8 : ascii;
        int cells = place->width - 2;
        int own, both;

        if (cells < 2)
                return;
        own = cells_of(first, cells);
        both = cells_of(first + second < 1000 ? first + second : 1000, cells);
        if (second > 0 && both <= own)
                both = own < cells ? own + 1 : own;
        put_character(grid, place, 0, '[', GRID_PLAIN);
        for (int i = 0; i < cells; i++) {
                unsigned part = i < own ? 0 : i < both ? 1 : 2;
                uint8_t looks[] = { place->looks, GRID_CYAN, GRID_DIM };

                put_character(grid, place, 1 + i, parts[part], looks[part]);
        }
        put_character(grid, place, 1 + cells, ']', GRID_PLAIN);
}

void grid_history(struct grid *grid, const struct grid_place *place, const struct history *history)
{
        unsigned cells = (unsigned)place->width;

        if (place->width < 1)
                return;
        cells = min_u32(cells, HISTORY_SAMPLES);
        for (unsigned i = 0; i < cells; i++) {
                int permille = history_cell(history, cells, i);
                unsigned level = (unsigned)(permille < 0 ? 0 : permille) * (LEVELS - 1);

                level = (level + 999) / 1000; /* rounded up, so that a value above 0 is visible */
                if (permille >= 0)
                        put_character(grid, place, (int)i,
                                      grid->is_utf8 ? line_utf8[level] : (uint8_t)line_ascii[level],
                                      place->looks);
        }
}

void grid_mark(struct grid *grid, int row, uint8_t looks)
{
        for (int i = 0; i < grid->columns; i++) {
                struct grid_cell *cell = grid_at(grid, row, i);

                if (cell)
                        cell->looks |= looks;
        }
}

int grid_encode(uint32_t character, char ret[5])
{
        unsigned more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
        static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };

        ret[0] = (char)(first[more] | character >> (6 * more));
        for (unsigned i = 1; i <= more; i++)
                ret[i] = (char)(0x80 | (character >> (6 * (more - i)) & 0x3f));
        ret[more + 1] = '\0';
        return (int)more + 1;
}

void grid_print(const struct grid *grid, FILE *stream)
{
        for (int row = 0; row < grid->rows; row++) {
                int end = grid->columns;

                while (end > 0 && grid_at(grid, row, end - 1)->character == ' ')
                        end--;
                for (int i = 0; i < end; i++) {
                        uint32_t character = grid_at(grid, row, i)->character;
                        char bytes[5];

                        if (!character)
                                continue;
                        grid_encode(character, bytes);
                        fputs(bytes, stream);
                }
                fputc('\n', stream);
        }
}
