/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of `aliquot bench share` (src/load) and who started them have in common: a file
 * that all of them map, with a row for each program.
 *
 * The programs begin together: when as many are ready as there are to be, the last one sets the
 * beginning. At the end of each period each writes down what it has had of its GPU so far. Where
 * its session is to be changed under it, it asks for that at the right moment of its own clock,
 * which may be virtual, and waits until it was done.
 *
 * Both are of one build: the layout has no version.
 */
#ifndef ALIQUOT_PROTO_LOAD_H
#define ALIQUOT_PROTO_LOAD_H

#include <stddef.h>
#include <stdint.h>

#define LOAD_ROWS 16u
#define LOAD_CHANGES 8u /* of one session */
#define LOAD_SAMPLES_MOST 36000u

/* How a program launches: kernel after kernel, through cuLaunchKernelEx, cooperative ones, graphs
 * (of ten), waiting for each (sync), asking until each is over (poll), twenty and then a wait
 * (step), in two streams in turns. The first is the usual one. */
#define LOAD_KINDS(X)  \
        X(kernel)      \
        X(ex)          \
        X(cooperative) \
        X(graph)       \
        X(sync)        \
        X(poll)        \
        X(step)        \
        X(streams)

/* Who measures how much GPU time a program had. */
enum load_judge {
        LOAD_JUDGE_NONE,   /* not known yet */
        LOAD_JUDGE_ENGINE, /* the simulated GPU's own engine */
        LOAD_JUDGE_STAMPS, /* time stamps that the kernels themselves write (%globaltimer) */
};

struct load_sample {
        uint64_t at_ns;   /* since the beginning */
        uint64_t busy_ns; /* GPU time of this program until then */
};

/* Written by its program, but for the last field. */
struct load_row {
        _Atomic uint32_t judge;   /* enum load_judge */
        _Atomic uint32_t sampled; /* samples that are there */
        _Atomic uint32_t asked;   /* changes asked for so far */
        _Atomic uint32_t changed; /* ... and made, by who started the program */
};

struct load_page {
        /* Set before the programs start, and constant. */
        uint64_t period_ns;
        uint32_t programs;
        uint32_t samples; /* of each */

        _Atomic uint32_t ready;
        uint32_t reserved;
        _Atomic uint64_t begin_ns; /* by the programs' clock; 0: not yet */
        struct load_row row[LOAD_ROWS];
        struct load_sample sample[]; /* programs x samples */
};

static inline size_t load_page_bytes(uint32_t programs, uint32_t samples)
{
        return sizeof(struct load_page) + (size_t)programs * samples * sizeof(struct load_sample);
}

static inline struct load_sample *load_samples(struct load_page *page, uint32_t row)
{
        return &page->sample[(size_t)row * page->samples];
}

#endif
