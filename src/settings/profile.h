/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a profile: a share of a GPU that is described by the profile's name alone.
 *
 *      [GPU-]MEMORY-PERCENT[-CLASS]
 *      gpu0-4GiB-30               4 GiB of memory and 30 % of the time of GPU 0
 *      gpu0-4GiB-30-rt            as above, in class rt, which is scheduled before normal and batch
 *      GPU-3f9a1c22-512MiB-12.5   512 MiB and 12.5 % of the GPU whose UUID begins with GPU-3f9a1c22
 *      4GiB-30                    4 GiB and 30 % of the only GPU of the machine
 *
 * A profile has no other definition that could contradict its name. The name is a valid session
 * name, so it can also name a folder or a CDI device, or be the beginning of a session's name. The
 * functions use no heap, clock, file or descriptor.
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
        /* selector for settings_select(); "": the machine's only GPU */
        char gpu[SETTINGS_SELECTOR_BYTES];
        uint64_t memory_bytes;
        uint32_t compute_milli_percent; /* share of GPU time; 100000: no cap */
        uint8_t priority;               /* 0: batch, 1: normal, 2: rt */
};

/* Parses `name`; the message in `err` says which part is wrong. */
int profile_parse(const char *name, struct profile *ret, struct error *err);

/* Whether `list`, names separated by spaces or commas, contains `name`. */
bool profile_is_in(const char *name, const char *list);

/* Returns the index in gpus->gpu of the profile's GPU. Negative: the machine does not have that
 * GPU, or the profile names none and the machine has several. */
int profile_gpu(const struct profile *profile, const struct settings_gpus *gpus, struct error *err);

#endif
