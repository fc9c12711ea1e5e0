/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which programs share a GPU, and what each is promised: the words of `aliquot bench share`.
 *
 * A word is a session: items with commas between, in any order.
 *
 *      30, 30%, compute=30         its cap
 *      guarantee=20, weight=2      and so on, as the options of that name
 *      rt, normal, batch           its class
 *      60@5s                       another cap from then on
 *      kernel, sync, graph, ...    how its program launches
 *      200us, 2ms                  how long its kernels take
 *      +5s, -10s                   it begins then, and stops then
 */
#ifndef ALIQUOT_CLI_BENCH_MIX_H
#define ALIQUOT_CLI_BENCH_MIX_H

#include <stdint.h>

#include "common/error.h"
#include "proto/load.h"

#define MIX_SESSIONS 8u
#define MIX_WORD_BYTES 96u
#define MIX_WHOLE_PPM 1000000u
#define MIX_NEVER UINT64_MAX

enum mix_class { MIX_RT, MIX_NORMAL, MIX_BATCH, MIX_CLASSES };

struct mix_change {
        uint64_t at_ns;
        uint32_t cap_ppm;
};

struct mix_session {
        char word[MIX_WORD_BYTES]; /* as it was typed */
        uint32_t cap_ppm;          /* MIX_WHOLE_PPM: none */
        uint32_t guarantee_ppm;    /* 0: none */
        uint32_t weight;
        enum mix_class class;
        const char *kind; /* of proto/load.h; constant */
        uint64_t kernel_ns;
        uint64_t from_ns, until_ns; /* of the run; MIX_NEVER: to its end */
        unsigned change_count;
        struct mix_change change[LOAD_CHANGES]; /* by time */
};

struct mix {
        unsigned count;
        struct mix_session session[MIX_SESSIONS];
};

/* The names of the classes, as the options and the daemon have them. */
extern const char *const mix_class_names[MIX_CLASSES];

/* One more session; -EINVAL names the word, the item and what was expected. */
int mix_add(struct mix *mix, const char *word, struct error *err);

/* What can only be told of all together, for a run of this length: -EINVAL. */
int mix_check(const struct mix *mix, uint64_t length_ns, struct error *err);

/* "200us", "2ms", "1.5s": ns, above 0. */
int mix_time(const char *text, uint64_t *ret_ns, struct error *err);

/* What is promised to each session at a moment, parts of the GPU (0..1): guarantees, then what is
 * left class by class, by weight and never above a cap, as docs/compute.md has it. One that does
 * not want the GPU then is promised nothing. */
void mix_promise(const struct mix *mix, uint64_t at_ns, double ret[MIX_SESSIONS]);

/* The mean of what is promised, from one moment to another. */
void mix_promise_over(const struct mix *mix, uint64_t from_ns, uint64_t until_ns,
                      double ret[MIX_SESSIONS]);

#endif
