/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of this machine, as the driver's NVML names them.
 *
 *      cards_start(handle, path, &err)         an NVML that the caller has opened
 *      cards_list(&cards, &err)                as often as wanted
 *      cards_stop()
 *
 * One NVML at a time, one thread. Starting one and stopping it again can take seconds on a real
 * machine whose driver is not kept loaded: who looks often keeps it started.
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
        uint64_t total_bytes; /* as NVML tells it */
        uint64_t used_bytes;
        uint64_t promisable_bytes; /* what all sessions can be promised: what a driver can give */
};

struct cards {
        char driver[80]; /* its version; "" if it does not say */
        char nvml[PATH_MAX];
        unsigned count;
        struct card card[SETTINGS_GPUS]; /* physical order, a card's instances behind it */
};

/* `handle` as dlopen() gave it, NULL if it gave none; `path` is for messages. -EIO: it does not
 * work. */
int cards_start(void *handle, const char *path, struct error *err);
int cards_list(struct cards *ret, struct error *err);
void cards_stop(void);

/* A card that is cut into instances: not to be had whole. */
bool cards_is_divided(const struct cards *cards, unsigned at);

/* As large as what can be promised of them. */
void cards_as_gpus(const struct cards *cards, struct settings_gpus *ret);

/*
 * Of a card's total, what can be promised where NVML says how much the card keeps for itself:
 * CUDA's total does not have that either (measured on an H200: NVML's total less what it calls
 * reserved, to the byte). A quarter as much again is left to the driver, for what no process is
 * shown to hold, and the rest is in whole pages. A card that keeps nothing (a simulated one) can be
 * promised whole.
 */
uint64_t cards_promisable_bytes(uint64_t total_bytes, uint64_t reserved_bytes);

/* "GPU-3f9a1c22", or the whole where that would not tell it from the others. */
const char *cards_short_uuid(const struct cards *cards, unsigned at, char ret[UUID_TEXT_BYTES]);

#endif
