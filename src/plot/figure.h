/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a figure, lines over two axes, from JSON:
 *
 *      { "title": "...", "about": "...", "note": "...",
 *        "x": { "label": "seconds", "to": 10000, "unit": 1000 }, "y": { ... },
 *        "lines": [ { "name": "...", "style": "line", "colour": 0, "points": [ x, y, x, y ] } ] }
 *
 * Numbers along an axis are displayed divided by the axis's `unit`. Styles: line, dashes, discs,
 * circles, squares, diamonds, crosses. A line without a name is not in the legend. Unknown members
 * are skipped.
 */
#ifndef ALIQUOT_PLOT_FIGURE_H
#define ALIQUOT_PLOT_FIGURE_H

#include <stdio.h>

#include "common/error.h"

#define FIGURE_TEXT_BYTES 256u
#define FIGURE_LINES 32u

enum figure_style {
        FIGURE_LINE,
        FIGURE_DASHES,
        FIGURE_DISCS,
        FIGURE_CIRCLES,
        FIGURE_SQUARES,
        FIGURE_DIAMONDS,
        FIGURE_CROSSES,
        FIGURE_STYLES
};

struct figure_axis {
        char label[FIGURE_TEXT_BYTES];
        double from, to, unit; /* range of the data; displayed numbers are divided by `unit` */
};

struct figure_line {
        char name[FIGURE_TEXT_BYTES];
        enum figure_style style;
        unsigned colour;    /* number of a colour in paint.c */
        double *at;         /* x and y of each point, alternately; owned */
        size_t count, room; /* numbers in `at`, and how many fit */
};

struct figure {
        char title[FIGURE_TEXT_BYTES], about[FIGURE_TEXT_BYTES], note[FIGURE_TEXT_BYTES];
        struct figure_axis x, y;
        unsigned line_count;
        struct figure_line line[FIGURE_LINES];
};

/* Reads the figure from all of the stream. On success the caller must call figure_free(). On
 * failure there is nothing to free. */
int figure_read(FILE *stream, struct figure *ret, struct error *err);
void figure_free(struct figure *figure);

#endif
