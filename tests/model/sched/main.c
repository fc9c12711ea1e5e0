/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of figures: exit status 1 if one is missed.
 *
 *      sched-model             as text
 *      sched-model --json      as a list of rows for bench/sched.py
 *
 * Virtual time and a seed: the same on every machine, but for the last digits of a logarithm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"

static struct {
        struct world world;
        bool is_json;
        unsigned rows, missed;
        int64_t sorted[LATENCIES];
} state;

void figure(const char *what, double value, const char *unit, double reach, bool is_min)
{
        bool is_missed = is_min ? value < reach : value > reach;

        state.missed += is_missed;
        if (state.is_json)
                printf("%s{\"what\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"reach\": %g, "
                       "\"least\": %s}",
                       state.rows ? ",\n" : "[", what, value, unit, reach,
                       is_min ? "true" : "false");
        else
                printf("  %-64s %10.4g %-6s %s %g%s\n", what, value, unit,
                       is_min ? ">=" : "<=", reach, is_missed ? "  MISSED" : "");
        state.rows++;
        fflush(stdout);
}

struct world *run(const struct world_spec *spec, int64_t until)
{
        world_start(&state.world, spec);
        world_run(&state.world, until);
        return &state.world;
}

struct sched_terms terms_of(unsigned percent, unsigned weight, enum sched_class class)
{
        return (struct sched_terms){ .cap_ppm = percent * 10000,
                                     .weight = weight,
                                     .class = (uint8_t) class };
}

static int compare(const void *a, const void *b)
{
        int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

        return (one > other) - (one < other);
}

double percentile_us(const int64_t *values, unsigned count, double part)
{
        if (count == 0)
                return 1e9;
        memcpy(state.sorted, values, count * sizeof(*values));
        qsort(state.sorted, count, sizeof(*values), compare);
        return (double)state.sorted[(unsigned)(part * (count - 1))] / US;
}

double apart(double a, double b)
{
        return a > b ? a - b : b - a;
}

int main(int argc, char **argv)
{
        state.is_json = argc > 1 && strcmp(argv[1], "--json") == 0;
        figures_caps();
        figures_pairs();
        figures_mixes();
        figures_rt();
        figures_change();
        if (state.is_json)
                printf("]\n");
        return state.missed > 0;
}
