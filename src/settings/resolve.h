/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies the rules of settings.h to the GPUs of a machine: the results are bytes and shares for
 * each GPU.
 *
 * The functions use no heap, clock, file or descriptor. A rule for a GPU that this machine does not
 * have, or for more memory than the card has, is refused with a message that names the rule.
 */
#ifndef ALIQUOT_SETTINGS_RESOLVE_H
#define ALIQUOT_SETTINGS_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "proto/page.h"

#define SETTINGS_GPUS 64

/* The memory limit on a GPU that a session may not use: no allocation fits in one byte. The limit
 * cannot be 0, since a 0 in the session's page means that the limit is not written yet. */
#define SETTINGS_NOTHING_BYTES 1u

/* Returns a memory limit for display: 0 for SETTINGS_NOTHING_BYTES. */
static inline uint64_t settings_told_bytes(uint64_t limit_bytes)
{
        return limit_bytes == SETTINGS_NOTHING_BYTES ? 0 : limit_bytes;
}

struct settings;
struct settings_rules;

/* A GPU or MIG instance of this machine. A rule's index counts only the GPUs that are not MIG
 * instances, in the order of settings_gpus. */
struct settings_gpu {
        uint8_t uuid[16];
        uint64_t card_bytes;
        bool is_instance; /* a MIG instance */
};

/* The GPUs of this machine, in physical order. `count` < 0: they are unknown. */
struct settings_gpus {
        int count;
        struct settings_gpu gpu[SETTINGS_GPUS];
};

/* The limits of a session on one GPU. */
struct settings_limit {
        uint8_t uuid[16];
        uint64_t limit_bytes; /* memory limit; PAGE_UNLIMITED: none */
        uint64_t card_bytes;
        bool is_named;     /* a memory rule names this GPU */
        uint32_t cap_ppm;  /* share of GPU time; PAGE_WHOLE_PPM: no cap */
        bool is_cap_named; /* a compute rule names this GPU */
};

/* The limits of a session on all its GPUs. The defaults are for GPUs that no rule names. */
struct settings_limits {
        bool has_default; /* there is a default memory rule */
        /* PAGE_UNLIMITED: no default, or default_micro_percent has it */
        uint64_t default_bytes;
        uint32_t default_micro_percent; /* default as a part of the card's memory; 0: none */
        bool has_default_cap;           /* there is a default compute rule */
        uint32_t default_cap_ppm;       /* PAGE_WHOLE_PPM: no cap */
        uint64_t host_bytes;            /* as settings.host_bytes */
        bool swaps;                     /* as settings.swaps */
        unsigned count;
        struct settings_limit device[PAGE_DEVICES];
};

/* Whether one of the rules names a GPU by index or UUID. Such rules resolve only if the GPUs
 * are known. */
bool settings_names_gpus(const struct settings_rules *rules);

/*
 * Sets the limits in bytes for each GPU, in the order of `gpus`. Only PAGE_DEVICES GPUs fit in
 * `ret`: if there are more, those named by a rule come first, and each GPU left out gets its limit
 * when it is first used. Refuses unknown, ambiguous and repeated GPUs, and limits above the card's
 * memory. If the GPUs are unknown, only a default limit, or no limit, can be resolved.
 */
int settings_resolve(const struct settings *settings, const struct settings_gpus *gpus,
                     struct settings_limits *ret, struct error *err);

/* Computes the default memory limit for a card of `card_bytes` that was unknown when `limits`
 * was made. */
int settings_resolve_default(const struct settings_limits *limits, uint64_t card_bytes,
                             uint64_t *ret, struct error *err);

/* The GPUs named by a list of selectors such as "1,GPU-3f", in the order of that list. */
struct settings_selection {
        unsigned count;
        unsigned at[SETTINGS_GPUS]; /* indices in settings_gpus.gpu */
};

/* Finds the GPUs named by `list`; refuses unknown, ambiguous and repeated ones. */
int settings_select(const char *list, const struct settings_gpus *gpus,
                    struct settings_selection *ret, struct error *err);

/* Refuses memory limits, or compute limits, that all name GPUs outside the selection, since they
 * would have no effect. */
int settings_check_selected(const struct settings *settings, const struct settings_gpus *gpus,
                            const struct settings_selection *selection,
                            const struct settings_limits *limits, struct error *err);

#endif
