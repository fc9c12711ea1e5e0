/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures that the policy must reach in the pretend world, and what it reaches.
 */
#ifndef ALIQUOT_TEST_SCHED_FIGURES_H
#define ALIQUOT_TEST_SCHED_FIGURES_H

#include "world.h"

/* A row: `reach` is the most that is good enough, or the least (`is_min`). */
void figure(const char *what, double value, const char *unit, double reach, bool is_min);

/* The one world there is (it is large), run from 0 until then. */
struct world *run(const struct world_spec *spec, int64_t until);
struct sched_terms terms_of(unsigned percent, unsigned weight, enum sched_class class);

double percentile_us(const int64_t *values, unsigned count, double part);
double apart(double a, double b);

/* Programs that are never idle. */
struct load {
        const char *name;
        enum kernels kernels;
        enum pattern pattern;
        int64_t kernel_ns;
        double mean_reach, worst_reach; /* of a cap, on average and in a second; points */
};

#define LOADS 7u
extern const struct load loads[LOADS];
struct program_spec busy(const struct load *load, struct sched_terms terms);

#define LONG (30 * SECOND)
#define WAKES 3u
extern const int64_t wakes[WAKES];

/* Each adds its rows. */
void figures_caps(void);  /* figures_caps.c */
void figures_pairs(void); /* figures_pairs.c */
void figures_mixes(void); /* figures_mix.c */
void figures_rt(void);    /* figures_time.c */
void figures_change(void);

#endif
