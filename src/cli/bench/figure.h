/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record as a picture: told to aliquot-plot (src/plot), a program of its own as it alone needs
 * cairo.
 */
#ifndef ALIQUOT_CLI_BENCH_FIGURE_H
#define ALIQUOT_CLI_BENCH_FIGURE_H

#include "cli/bench/record.h"
#include "machine/installation.h"

/* Whether pictures can be made here at all; -ENOENT says what is missing. */
int figure_check(const struct installation *own, struct error *err);

/* Writes the PNG; `title` NULL: a usual one. */
int figure_draw(const struct installation *own, const struct record *record, const char *title,
                const char *path, struct error *err);

#endif
