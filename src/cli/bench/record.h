/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came of a mix: what each session was promised and had, period by period. Also as JSON, to be
 * drawn again.
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
        unsigned samples; /* of each session */
        char gpu[RECORD_TEXT_BYTES];
        char clock[RECORD_TEXT_BYTES]; /* "virtual" or "real" */
        enum load_judge judge;
        struct load_sample *sample; /* owned: sessions x samples */
};

void record_free(struct record *record);

static inline const struct load_sample *record_samples(const struct record *record, unsigned at)
{
        return &record->sample[(size_t)at * record->samples];
}

/* Parts of the GPU (0..1) that a session had, and was promised, in samples `from` to `until`: after
 * the end of sample from - 1 and up to that of until - 1. */
double record_delivered(const struct record *record, unsigned at, unsigned from, unsigned until);
double record_promised(const struct record *record, unsigned at, unsigned from, unsigned until);

/* A session over the time in which it wanted the GPU, without its first half second: what its work
 * takes is not known at first. */
struct record_figures {
        bool has_any; /* it wanted the GPU for long enough */
        double promised, delivered;
        double worst_second; /* largest distance of the two over a second; -1: it took less */
};

void record_figures(const struct record *record, unsigned at, struct record_figures *ret);

struct record_summary {
        unsigned count;      /* sessions with figures */
        double mean_error;   /* of what each had from what it was promised */
        double jain;         /* of what each had by what it was promised, if anything; 1 is fair */
        double together;     /* all sessions, over the whole run */
        double worst_second; /* -1: none */
};

void record_summarize(const struct record *record, struct record_summary *ret);

/* Whether every program got on: -EIO names one that stood still for seconds, as its samples tell,
 * or that the GPU did nothing for all the time. What the others had is then no result either. */
int record_check(const struct record *record, struct error *err);

/* For people: who judged, as in "the simulator's engine". */
const char *record_judge(const struct record *record);

int record_write(const struct record *record, FILE *stream);

/* What record_write() wrote; record_free() after 0. */
int record_read(const char *path, struct record *ret, struct error *err);

#endif
