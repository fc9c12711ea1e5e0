/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a figure into a file: title, legend, axes with a grid, lines. The file is an SVG if its
 * name ends in .svg, else a PNG.
 */
#ifndef ALIQUOT_PLOT_PAINT_H
#define ALIQUOT_PLOT_PAINT_H

#include "plot/figure.h"

int paint_file(const struct figure *figure, const char *path, struct error *err);

#endif
