/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile: a share of a GPU, described by its name.
 *
 *      [GPU-]MEMORY-PERCENT[-CLASS]
 *      gpu0-4GiB-30            4 GiB and 30 % of the time of GPU 0
 *      gpu0-4GiB-30-rt         the same, before all that is not rt
 *      GPU-3f9a1c22-512MiB-12.5
 *      4GiB-30                 on a machine with one GPU
 *
 * The name says everything about the share; nothing else could contradict it. It has the form of a
 * session's name, so that it can name a folder and a CDI device, and begin a session's name. Pure.
 */
#ifndef ALIQUOT_SETTINGS_PROFILE_H
#define ALIQUOT_SETTINGS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "proto/page.h"
#include "settings/resolve.h"
#include "settings/settings.h"

#define PROFILE_EXPECTED "a share such as gpu0-4GiB-30, 4GiB-30 or gpu0-4GiB-30-rt"

struct profile {
        char name[PAGE_NAME_BYTES];
        char gpu[SETTINGS_SELECTOR_BYTES]; /* as settings_select() accepts it; "": the only GPU */
        uint64_t memory_bytes;
        uint32_t compute_milli_percent; /* 100000: no cap */
        uint8_t priority;               /* 0 batch, 1 normal, 2 rt */
};

int profile_parse(const char *name, struct profile *ret, struct error *err);

/* Whether a list of names, separated by spaces or commas, contains this one. */
bool profile_is_in(const char *name, const char *list);

/* The index of its GPU among these. Negative: the GPU is not here, or is not the only one. */
int profile_gpu(const struct profile *profile, const struct settings_gpus *gpus, struct error *err);

#endif
