/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a picture of a record, with aliquot-plot (src/plot), which is a separate program because
 * only it needs cairo.
 */
#ifndef ALIQUOT_CLI_BENCH_FIGURE_H
#define ALIQUOT_CLI_BENCH_FIGURE_H

#include "cli/bench/record.h"
#include "machine/installation.h"

/* Checks that pictures can be made. -ENOENT: `err` says what is missing. */
int figure_check(const struct installation *own, struct error *err);

/* Writes the picture as a PNG file. `title` NULL: a default title. */
int figure_draw(const struct installation *own, const struct record *record, const char *title,
                const char *path, struct error *err);

#endif
