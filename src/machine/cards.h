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
        uint64_t total_bytes;
        uint64_t used_bytes;
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

void cards_as_gpus(const struct cards *cards, struct settings_gpus *ret);

/* "GPU-3f9a1c22", or the whole where that would not tell it from the others. */
const char *cards_short_uuid(const struct cards *cards, unsigned at, char ret[UUID_TEXT_BYTES]);

#endif
