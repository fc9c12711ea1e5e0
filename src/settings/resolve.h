/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies the rules of settings.h to the GPUs of a machine: results are bytes and shares.
 *
 * Pure, like settings.h. A rule that does not apply here, or asks for more than a card has, is
 * refused with a line that names it.
 */
#ifndef ALIQUOT_SETTINGS_RESOLVE_H
#define ALIQUOT_SETTINGS_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "proto/page.h"

#define SETTINGS_GPUS 64

/* The limit on a GPU that a session may not use: nothing fits. (0 marks a row of its page that is
 * not ready yet.) */
#define SETTINGS_NOTHING_BYTES 1u

/* A limit as it is displayed. */
static inline uint64_t settings_told_bytes(uint64_t limit_bytes)
{
        return limit_bytes == SETTINGS_NOTHING_BYTES ? 0 : limit_bytes;
}

struct settings;
struct settings_rules;

/* A GPU of this machine. Indices count the GPUs that are not MIG instances, in the given order. */
struct settings_gpu {
        uint8_t uuid[16];
        uint64_t card_bytes;
        bool is_instance;
};

/* In physical order. `count` < 0: the GPUs are unknown. */
struct settings_gpus {
        int count;
        struct settings_gpu gpu[SETTINGS_GPUS];
};

struct settings_limit {
        uint8_t uuid[16];
        uint64_t limit_bytes; /* PAGE_UNLIMITED: none */
        uint64_t card_bytes;
        bool is_named;    /* has a rule of its own */
        uint32_t cap_ppm; /* of GPU time; PAGE_WHOLE_PPM: none */
        bool is_cap_named;
};

struct settings_limits {
        bool has_default;               /* there is a rule for every other device */
        uint64_t default_bytes;         /* PAGE_UNLIMITED: none, or a percentage */
        uint32_t default_micro_percent; /* of a card that appears later; 0: none */
        bool has_default_cap;
        uint32_t default_cap_ppm; /* PAGE_WHOLE_PPM: none */
        uint64_t host_bytes;      /* settings.host_bytes */
        bool swaps;               /* settings.swaps */
        unsigned count;
        struct settings_limit device[PAGE_DEVICES];
};

/* Whether a rule names a GPU by index or UUID, so that the GPUs must be known. */
bool settings_names_gpus(const struct settings_rules *rules);

/*
 * Sets the limits in bytes for each GPU, in the GPUs' order. If there are more than PAGE_DEVICES,
 * those named by a rule come first, and the last get their rows when they are used. Refuses
 * unknown, ambiguous and repeated GPUs, and limits above the card. If the GPUs are unknown, only a
 * default, or no limit at all, resolves.
 */
int settings_resolve(const struct settings *settings, const struct settings_gpus *gpus,
                     struct settings_limits *ret, struct error *err);

/* The default limit for a card that was not known before. */
int settings_resolve_default(const struct settings_limits *limits, uint64_t card_bytes,
                             uint64_t *ret, struct error *err);

/* The GPUs named by a list of selectors such as "1,GPU-3f", in its order. */
struct settings_selection {
        unsigned count;
        unsigned at[SETTINGS_GPUS]; /* indices into settings_gpus.gpu */
};

int settings_select(const char *list, const struct settings_gpus *gpus,
                    struct settings_selection *ret, struct error *err);

/* Refuses limits that are all for GPUs outside the selection: they would have no effect. */
int settings_check_selected(const struct settings *settings, const struct settings_gpus *gpus,
                            const struct settings_selection *selection,
                            const struct settings_limits *limits, struct error *err);

#endif
