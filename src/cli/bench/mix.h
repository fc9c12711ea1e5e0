/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mix of programs that share a GPU, and what each is promised: the words in the arguments of
 * `aliquot bench share`.
 *
 * A word is a session: a list of items, separated by commas, in any order.
 *
 *      30, 30%, compute=30         the session's cap
 *      guarantee=20, weight=2      and so on, like the options of these names
 *      rt, normal, batch           its class
 *      60@5s                       another cap from that time on
 *      kernel, sync, graph, ...    how its program launches
 *      200us, 2ms                  the length of the program's kernels
 *      +5s, -10s                   the program begins, or stops, at that time
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
        char word[MIX_WORD_BYTES]; /* as the user typed it */
        uint32_t cap_ppm;          /* MIX_WHOLE_PPM: no cap */
        uint32_t guarantee_ppm;    /* 0: no guarantee */
        uint32_t weight;
        enum mix_class class;
        const char *kind; /* a kind of load in proto/load.h; constant */
        uint64_t kernel_ns;
        uint64_t from_ns, until_ns; /* since the beginning of the run; MIX_NEVER: until its end */
        unsigned change_count;
        struct mix_change change[LOAD_CHANGES]; /* in the order of their times */
};

struct mix {
        unsigned count;
        struct mix_session session[MIX_SESSIONS];
};

/* The names of the classes, as in the options and in the daemon. */
extern const char *const mix_class_names[MIX_CLASSES];

/* Adds a session. -EINVAL: `err` has the word, the item and what was expected. */
int mix_add(struct mix *mix, const char *word, struct error *err);

/* Checks what depends on all sessions, and on the length of the run. -EINVAL. */
int mix_check(const struct mix *mix, uint64_t length_ns, struct error *err);

/* Parses a time such as "200us", "2ms" or "1.5s" into ns; it must be above 0. */
int mix_time(const char *text, uint64_t *ret_ns, struct error *err);

/* Computes what each session is promised at a time, as part of the GPU (0 to 1). First come the
 * guarantees; what is left is divided class by class, by weight and never above a cap
 * (docs/compute.md). A session that does not want the GPU at that time is promised nothing. */
void mix_promise(const struct mix *mix, uint64_t at_ns, double ret[MIX_SESSIONS]);

/* Computes the mean of mix_promise() from one time to another. */
void mix_promise_over(const struct mix *mix, uint64_t from_ns, uint64_t until_ns,
                      double ret[MIX_SESSIONS]);

#endif
