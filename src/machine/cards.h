/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the GPUs of this machine with the driver's NVML.
 *
 *      cards_start(handle, path, &err)         with an NVML that the caller opened
 *      cards_list(&cards, &err)                any number of times
 *      cards_stop()
 *
 * Only one NVML can be started at a time, and only one thread may call these functions. Starting
 * and stopping can take seconds on a real machine whose driver does not stay loaded. So a caller
 * that lists often should not stop between the lists.
 */
#ifndef ALIQUOT_MACHINE_CARDS_H
#define ALIQUOT_MACHINE_CARDS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/uuid.h"
#include "settings/resolve.h"

/* A GPU or MIG instance. */
struct card {
        uint8_t uuid[16];
        bool is_instance; /* a MIG instance; its `index` is that of its card */
        unsigned index;   /* NVML's index of the card */
        char name[96];
        uint64_t total_bytes; /* total memory, as NVML reports it */
        uint64_t used_bytes;
        uint64_t promisable_bytes; /* maximum bytes that can be promised to all sessions together */
};

/* All GPUs of the machine. */
struct cards {
        char driver[80];     /* version of the driver; "": unknown */
        char nvml[PATH_MAX]; /* path of the NVML, as given to cards_start() */
        unsigned count;
        struct card card[SETTINGS_GPUS]; /* in physical order, instances after their card */
};

/* Starts NVML. `handle` is the result of dlopen(), which may be NULL; `path` is for messages. -EIO:
 * NVML is missing or fails. */
int cards_start(void *handle, const char *path, struct error *err);
/* Lists all GPUs; -EIO: NVML fails. */
int cards_list(struct cards *ret, struct error *err);
void cards_stop(void);

/* Whether the card is split into MIG instances, so that it cannot be used as a whole. */
bool cards_is_divided(const struct cards *cards, unsigned at);

/* Converts the list for settings_resolve(). card_bytes are the promisable bytes. */
void cards_as_gpus(const struct cards *cards, struct settings_gpus *ret);

/*
 * Returns how many bytes of a card's total can be promised to sessions. `reserved_bytes` is the
 * part that the card reserves, as NVML reports it. It is subtracted because CUDA's total lacks it
 * too (measured on an H200: CUDA's total is NVML's total minus the reserved bytes, to the byte). A
 * further quarter of the reserved bytes is left to the driver, for memory that NVML shows for no
 * process. The rest is rounded down to whole pages. A card that reserves nothing (a simulated one)
 * can be promised whole.
 */
uint64_t cards_promisable_bytes(uint64_t total_bytes, uint64_t reserved_bytes);

/* Returns a short text for a card, such as "GPU-3f9a1c22", or its whole UUID if the short one is
 * not unique among the cards. */
const char *cards_short_uuid(const struct cards *cards, unsigned at, char ret[UUID_TEXT_BYTES]);

#endif
