/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the script program share: a line as words, and how answers are printed.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cuda.h"

#define WORDS 8
#define SLOTS 512

struct command {
        unsigned count;
        char *word[WORDS];
};

struct verb {
        const char *name;
        void (*run)(const struct command *);
};

extern const struct verb vmm_verbs[];
extern const size_t vmm_verb_count;
extern const struct verb bytes_verbs[];
extern const size_t bytes_verb_count;
extern const struct verb code_verbs[];
extern const size_t code_verb_count;
extern const struct verb graph_verbs[];
extern const size_t graph_verb_count;
extern const struct verb view_verbs[];
extern const size_t view_verb_count;

extern CUdeviceptr memory[SLOTS];
extern CUstream streams[SLOTS];

static inline uint64_t number(const struct command *c, unsigned at)
{
        return at < c->count ? strtoull(c->word[at], NULL, 0) : 0;
}

static inline unsigned slot(const struct command *c, unsigned at)
{
        return (unsigned)number(c, at) % SLOTS;
}

/* &table[slot], or NULL when the script says so. */
#define AT(table, c, n) \
        ((n) < (c)->count && strcmp((c)->word[n], "-") == 0 ? NULL : &table[slot(c, n)])

static inline void say(CUresult rc)
{
        printf("%d", rc);
}

static inline void say_values(int rc, const uint64_t *values, unsigned count)
{
        printf("%d", rc);
        for (unsigned i = 0; rc == 0 && i < count; i++)
                printf(" %" PRIu64, values[i]);
}
