/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A figure as a PNG: title, axes with a grid, lines, and a legend to the right.
 */
#ifndef ALIQUOT_PLOT_PAINT_H
#define ALIQUOT_PLOT_PAINT_H

#include "plot/figure.h"

int paint_png(const struct figure *figure, const char *path, struct error *err);

#endif
