/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules of settings.h come to on the GPUs of a machine: bytes and parts of a whole.
 *
 * Pure, as settings.h; a rule that means nothing here, or more than a card has, is refused with a
 * line that names it.
 */
#ifndef ALIQUOT_SETTINGS_RESOLVE_H
#define ALIQUOT_SETTINGS_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "proto/page.h"

#define SETTINGS_GPUS 64

/* The limit on a GPU that a session is not to have: nothing fits. (0 is a row of its page that is
 * not ready yet.) */
#define SETTINGS_NOTHING_BYTES 1u

/* A limit as it is told. */
static inline uint64_t settings_told_bytes(uint64_t limit_bytes)
{
        return limit_bytes == SETTINGS_NOTHING_BYTES ? 0 : limit_bytes;
}

struct settings;
struct settings_rules;

/* A GPU of this machine. Indices count those that are not MIG instances, in the given order. */
struct settings_gpu {
        uint8_t uuid[16];
        uint64_t card_bytes;
        bool is_instance;
};

/* In physical order. `count` < 0: nobody could tell which GPUs there are. */
struct settings_gpus {
        int count;
        struct settings_gpu gpu[SETTINGS_GPUS];
};

struct settings_limit {
        uint8_t uuid[16];
        uint64_t limit_bytes; /* PAGE_UNLIMITED when none */
        uint64_t card_bytes;
        bool is_named;    /* by a rule of its own */
        uint32_t cap_ppm; /* of GPU time; PAGE_WHOLE_PPM when none */
        bool is_cap_named;
};

struct settings_limits {
        bool has_default;               /* a rule for every other device was given */
        uint64_t default_bytes;         /* PAGE_UNLIMITED when none, or when a percentage is */
        uint32_t default_micro_percent; /* of whatever card shows up later; 0 = none */
        bool has_default_cap;
        uint32_t default_cap_ppm; /* PAGE_WHOLE_PPM when none */
        uint64_t host_bytes;      /* settings.host_bytes */
        bool swaps;               /* settings.swaps */
        unsigned count;
        struct settings_limit device[PAGE_DEVICES];
};

/* Whether a rule is for a GPU by index or UUID, and so needs the GPUs to be known. */
bool settings_names_gpus(const struct settings_rules *rules);

/*
 * The rules in bytes for each GPU, in their order; when there are more than PAGE_DEVICES, those
 * that a rule names come first and the last get their rows when they are used. Refuses unknown,
 * ambiguous and repeated GPUs and limits above the card. With unknown GPUs only a default, or no
 * limit at all, resolves.
 */
int settings_resolve(const struct settings *settings, const struct settings_gpus *gpus,
                     struct settings_limits *ret, struct error *err);

/* What the default comes to on a card that was not known before. */
int settings_resolve_default(const struct settings_limits *limits, uint64_t card_bytes,
                             uint64_t *ret, struct error *err);

/* The GPUs that a list of selectors such as "1,GPU-3f" names, in its order. */
struct settings_selection {
        unsigned count;
        unsigned at[SETTINGS_GPUS]; /* positions in settings_gpus.gpu */
};

int settings_select(const char *list, const struct settings_gpus *gpus,
                    struct settings_selection *ret, struct error *err);

/* Refuses limits that are all for GPUs outside the selection: they would limit nothing. */
int settings_check_selected(const struct settings *settings, const struct settings_gpus *gpus,
                            const struct settings_selection *selection,
                            const struct settings_limits *limits, struct error *err);

#endif
