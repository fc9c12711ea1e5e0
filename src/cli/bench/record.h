/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of running a mix: what each session was promised and got, in each period. Can be
 * written as JSON and read again, to draw it another time.
 */
#ifndef ALIQUOT_CLI_BENCH_RECORD_H
#define ALIQUOT_CLI_BENCH_RECORD_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/bench/mix.h"
#include "common/error.h"
#include "proto/load.h"

#define RECORD_TEXT_BYTES 96u

struct record {
        struct mix mix;
        uint64_t period_ns;
        unsigned samples; /* number of samples of each session */
        char gpu[RECORD_TEXT_BYTES];
        char clock[RECORD_TEXT_BYTES]; /* the clock of the run: "virtual" or "real" */
        enum load_judge judge;
        /* owned: the samples of the first session, then those of the next */
        struct load_sample *sample;
};

void record_free(struct record *record);

static inline const struct load_sample *record_samples(const struct record *record, unsigned at)
{
        return &record->sample[(size_t)at * record->samples];
}

/* Return the part of the GPU (0 to 1) that a session got, or was promised, in the samples from
 * `from` to `until` - 1: from the end of sample `from` - 1 to the end of sample `until` - 1. */
double record_delivered(const struct record *record, unsigned at, unsigned from, unsigned until);
double record_promised(const struct record *record, unsigned at, unsigned from, unsigned until);

/* Figures of a session over the time in which it wanted the GPU, without the first half second: at
 * first it is unknown how long its work takes. */
struct record_figures {
        bool has_any; /* there are figures: it wanted the GPU for long enough */
        double promised, delivered;
        /* largest difference between promised and delivered over any second; -1: the time was
         * shorter */
        double worst_second;
};

void record_figures(const struct record *record, unsigned at, struct record_figures *ret);

struct record_summary {
        unsigned count; /* number of sessions with figures */
        /* mean difference between what each session got and what it was promised */
        double mean_error;
        /* Jain's index of fairness, of what each session got divided by what it was promised; 1 is
         * fair */
        double jain;
        double together; /* part of the GPU that all sessions got together, over the whole run */
        double worst_second; /* largest of the sessions' worst_second; -1: none */
};

void record_summarize(const struct record *record, struct record_summary *ret);

/* Checks that every program ran all the time. -EIO: a program's samples show that it stood still
 * for seconds, or that the GPU did nothing for it. Then the figures of the other sessions are no
 * result either. */
int record_check(const struct record *record, struct error *err);

/* Returns a text for users about what measured the GPU time, such as "the simulator's engine". */
const char *record_judge(const struct record *record);

int record_write(const struct record *record, FILE *stream);

/* Reads a file that record_write() wrote. On success the caller frees the record with
 * record_free(). */
int record_read(const char *path, struct record *ret, struct error *err);

#endif
