/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of the shared file of `aliquot bench share`. The command and the load programs that it
 * starts (src/load) map the file; each program has a row.
 *
 * All programs start their load at the same time, begin_ns, which the last one to become ready
 * sets. At the end of each period each program records the GPU time that it has had so far. The
 * command can also change a session's settings during the run. The program requests such a change
 * (load_row.asked) at the right time of its own clock, which may be virtual, and waits until the
 * command has made it (load_row.changed).
 *
 * The command and the programs are always of the same build, so the layout has no version.
 */
#ifndef ALIQUOT_PROTO_LOAD_H
#define ALIQUOT_PROTO_LOAD_H

#include <stddef.h>
#include <stdint.h>

#define LOAD_ROWS 16u
#define LOAD_CHANGES 8u /* maximum changes of settings per session */
#define LOAD_SAMPLES_MAX 36000u

/* How a program launches. The first is the default.
 *   kernel       one kernel after another
 *   ex           kernels through cuLaunchKernelEx()
 *   cooperative  cooperative kernels
 *   graph        graphs of ten kernels
 *   sync         kernels, and a wait for each
 *   poll         kernels, and a poll of each until it is done
 *   step         twenty kernels, and then a wait
 *   streams      kernels in two streams alternately */
#define LOAD_KINDS(X)  \
        X(kernel)      \
        X(ex)          \
        X(cooperative) \
        X(graph)       \
        X(sync)        \
        X(poll)        \
        X(step)        \
        X(streams)

/* How the GPU time of a program is measured. */
enum load_judge {
        LOAD_JUDGE_NONE,   /* not known yet */
        LOAD_JUDGE_ENGINE, /* read from the simulated GPU's engine */
        LOAD_JUDGE_STAMPS, /* computed from time stamps that the kernels write (%globaltimer) */
};

struct load_sample {
        uint64_t at_ns;   /* time since load_page.begin_ns */
        uint64_t busy_ns; /* GPU time that the program had until then */
};

/* The row of one program, which writes it. Only `changed` is written by the command. */
struct load_row {
        _Atomic uint32_t judge;   /* enum load_judge */
        _Atomic uint32_t sampled; /* number of samples written */
        _Atomic uint32_t asked;   /* number of changes that the program has requested */
        _Atomic uint32_t changed; /* number of changes that the command has made */
};

struct load_page {
        /* Constant: the command sets these three before it starts the programs. */
        uint64_t period_ns;
        uint32_t programs;
        uint32_t samples; /* samples per program */

        _Atomic uint32_t ready; /* number of programs that are ready */
        uint32_t reserved;
        /* when the load starts, by the programs' clock; 0: not yet set */
        _Atomic uint64_t begin_ns;
        struct load_row row[LOAD_ROWS];
        struct load_sample sample[]; /* `samples` entries for each program */
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
