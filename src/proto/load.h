/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared file of `aliquot bench share`: the programs (src/load) and the process that started
 * them map it; each program has a row.
 *
 * The programs begin together: the last one to become ready sets the beginning. At the end of each
 * period each program records the GPU time that it has had so far. If its session is to be changed
 * meanwhile, it asks for that at the right moment of its own clock, which may be virtual, and waits
 * until it is done.
 *
 * Both sides are of one build: the layout has no version.
 */
#ifndef ALIQUOT_PROTO_LOAD_H
#define ALIQUOT_PROTO_LOAD_H

#include <stddef.h>
#include <stdint.h>

#define LOAD_ROWS 16u
#define LOAD_CHANGES 8u /* per session */
#define LOAD_SAMPLES_MAX 36000u

/* How a program launches: one kernel after another; through cuLaunchKernelEx; cooperative ones;
 * graphs (of ten); waiting for each (sync); polling until each is done (poll); twenty and then a
 * wait (step); in two streams alternately. The first is the default. */
#define LOAD_KINDS(X)  \
        X(kernel)      \
        X(ex)          \
        X(cooperative) \
        X(graph)       \
        X(sync)        \
        X(poll)        \
        X(step)        \
        X(streams)

/* Source of the GPU time that a program had. */
enum load_judge {
        LOAD_JUDGE_NONE,   /* not known yet */
        LOAD_JUDGE_ENGINE, /* the simulated GPU's engine */
        LOAD_JUDGE_STAMPS, /* time stamps written by the kernels themselves (%globaltimer) */
};

struct load_sample {
        uint64_t at_ns;   /* since the beginning */
        uint64_t busy_ns; /* GPU time of this program until then */
};

/* Written by its program, except the last field. */
struct load_row {
        _Atomic uint32_t judge;   /* enum load_judge */
        _Atomic uint32_t sampled; /* number of samples written */
        _Atomic uint32_t asked;   /* changes requested so far */
        _Atomic uint32_t changed; /* changes made, by the process that started the program */
};

struct load_page {
        /* Set before the programs start; constant. */
        uint64_t period_ns;
        uint32_t programs;
        uint32_t samples; /* per program */

        _Atomic uint32_t ready;
        uint32_t reserved;
        _Atomic uint64_t begin_ns; /* by the programs' clock; 0: not begun */
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
