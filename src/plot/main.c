/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot-plot FILE: draws the figure on its standard input (plot/figure.h) as a PNG, or as an SVG
 * if FILE ends in .svg.
 *
 * `aliquot bench` and scripts run it. It is a separate program because only drawing needs cairo.
 * With --version it exits with 0 at once: a check that it can be started.
 */
#include <stdio.h>
#include <string.h>

#include "plot/figure.h"
#include "plot/paint.h"

int main(int argc, char **argv)
{
        static struct figure figure;
        struct error err = { 0 };
        int rc;

        if (argc != 2) {
                fputs("usage: aliquot-plot FILE.png|FILE.svg <FIGURE.json\n", stderr);
                return 2;
        }
        if (strcmp(argv[1], "--version") == 0)
                return 0;
        rc = figure_read(stdin, &figure, &err);
        if (rc == 0) {
                rc = paint_file(&figure, argv[1], &err);
                figure_free(&figure);
        }
        if (rc < 0)
                fprintf(stderr, "aliquot-plot: %s\n", err.text);
        return rc < 0;
}
