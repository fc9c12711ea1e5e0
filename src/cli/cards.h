/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of this machine, as the driver's NVML names them: whole, whatever session we are in.
 */
#ifndef ALIQUOT_CLI_CARDS_H
#define ALIQUOT_CLI_CARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/library.h"
#include "common/uuid.h"
#include "settings/settings.h"

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

/* -ENOENT: no NVML on this machine. -EIO: it is there and does not work. */
int cards_read(const struct library *library, struct cards *ret, struct error *err);

void cards_as_gpus(const struct cards *cards, struct settings_gpus *ret);

/* "GPU-3f9a1c22", or the whole where that would not tell it from the others. */
const char *cards_short_uuid(const struct cards *cards, unsigned at, char ret[UUID_TEXT_BYTES]);

#endif
