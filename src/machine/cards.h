/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the GPUs of this machine with the driver's NVML.
 *
 *      cards_start(handle, path, &err)         with an NVML that the caller opened
 *      cards_list(&cards, &err)                as often as wanted
 *      cards_stop()
 *
 * One NVML at a time, one thread. Starting and stopping can take seconds on a real machine whose
 * driver does not stay loaded, so callers that list often keep it started.
 */
#ifndef ALIQUOT_MACHINE_CARDS_H
#define ALIQUOT_MACHINE_CARDS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/uuid.h"
#include "settings/resolve.h"

struct card {
        uint8_t uuid[16];
        bool is_instance; /* a MIG instance; `index` is then its card's */
        unsigned index;
        char name[96];
        uint64_t total_bytes; /* as NVML reports it */
        uint64_t used_bytes;
        uint64_t promisable_bytes; /* the most that all sessions can be promised together */
};

struct cards {
        char driver[80]; /* its version; "" if unknown */
        char nvml[PATH_MAX];
        unsigned count;
        struct card card[SETTINGS_GPUS]; /* physical order, instances after their card */
};

/* `handle` is the result of dlopen(), maybe NULL; `path` is for messages. -EIO: it does not
 * work. */
int cards_start(void *handle, const char *path, struct error *err);
int cards_list(struct cards *ret, struct error *err);
void cards_stop(void);

/* Whether the card is split into MIG instances, so that it cannot be used whole. */
bool cards_is_divided(const struct cards *cards, unsigned at);

/* The sizes are the promisable bytes. */
void cards_as_gpus(const struct cards *cards, struct settings_gpus *ret);

/*
 * How much of a card's total can be promised, if NVML reports the part that the card reserves.
 * CUDA's total lacks that part too (measured on an H200: NVML's total minus the reserved bytes, to
 * the byte). A further quarter of it is left to the driver, for memory that NVML shows for no
 * process, and the rest is rounded down to whole pages. A card that reserves nothing (a simulated
 * one) can be promised whole.
 */
uint64_t cards_promisable_bytes(uint64_t total_bytes, uint64_t reserved_bytes);

/* "GPU-3f9a1c22", or the whole UUID if that is not unique among the cards. */
const char *cards_short_uuid(const struct cards *cards, unsigned at, char ret[UUID_TEXT_BYTES]);

#endif
