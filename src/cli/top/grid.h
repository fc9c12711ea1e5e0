/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen as data: cells with one character and its attributes, which tests compare and a terminal
 * shows.
 *
 * All drawing is clipped to the grid and to the given width. Text is UTF-8: control characters and
 * invalid UTF-8 are shown as escapes such as \x1b, combining marks are left out, and without
 * `is_utf8` all other characters than ASCII become '?'. Bars and lines then use ASCII characters
 * too, so that every screen has an ASCII version that loses nothing else. The width of a character
 * is that in the locale.
 */
#ifndef ALIQUOT_CLI_TOP_GRID_H
#define ALIQUOT_CLI_TOP_GRID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/top/history.h"

/* Attributes of a cell: one colour and any of the others. */
enum grid_looks {
        GRID_PLAIN = 0,
        GRID_GREEN = 1,
        GRID_YELLOW = 2,
        GRID_RED = 3,
        GRID_CYAN = 4,
        GRID_COLOUR = 0x0f,
        GRID_BOLD = 0x10,
        GRID_TITLE = 0x20,
        GRID_SELECTED = 0x40,
        GRID_DIM = 0x80,
};

struct grid_cell {
        uint32_t character; /* Unicode; 0: the character to the left covers this cell too */
        uint8_t looks;
};

struct grid {
        int rows, columns;
        bool is_utf8;
        struct grid_cell *cell; /* owned: rows x columns */
};

/* Where on the grid a text goes, and how it looks. */
struct grid_place {
        int row, column, width;
        uint8_t looks;
};

/* Sets the size of the grid and makes all cells blank. The first call is with a zeroed grid.
 * -ENOMEM. */
int grid_begin(struct grid *grid, int rows, int columns);
void grid_finish(struct grid *grid);

/* Returns the cell at a row and column; NULL if that is outside the grid. */
struct grid_cell *grid_at(const struct grid *grid, int row, int column);

/* Draws a text at the left of its place, with blanks in the rest. A text that is too long is cut,
 * which a mark shows. grid_right() draws it at the right. */
void grid_text(struct grid *grid, const struct grid_place *place, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void grid_right(struct grid *grid, const struct grid_place *place, const char *text);

/* Draws a bar in brackets: `first` and `second` thousandths, then free space. `place->looks` is for
 * the first part; the second part has its own character. */
void grid_bar(struct grid *grid, const struct grid_place *place, unsigned first, unsigned second);
void grid_history(struct grid *grid, const struct grid_place *place, const struct history *history);

/* Adds attributes to a whole row. */
void grid_mark(struct grid *grid, int row, uint8_t looks);

/* Prints the grid as lines of text without attributes; spaces at the ends of lines are left out. */
void grid_print(const struct grid *grid, FILE *stream);

/* Encodes one character as UTF-8, terminated; returns its length in bytes. */
int grid_encode(uint32_t character, char ret[5]);

#endif
