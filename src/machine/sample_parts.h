/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that take the parts of a sample (sample.h); only sample*.c call them. Values that the
 * driver does not report are left out, and failures are counted. Those that return int return 0, or
 * -ENOMEM.
 */
#ifndef ALIQUOT_MACHINE_SAMPLE_PARTS_H
#define ALIQUOT_MACHINE_SAMPLE_PARTS_H

#include "machine/sample.h"

/* Whether `rc` is a success. Any other result is counted as a failure, except if this GPU or driver
 * lacks or forbids the function or value. */
bool sample_told(struct sample *sample, nvmlReturn_t rc);

/* Adds the processes of one of the driver's lists (0 to SAMPLE_LISTS - 1) of a card. */
int sample_list(const struct sample_nvml *nvml, nvmlDevice_t handle, struct sample *sample,
                unsigned device, unsigned list);

/* Sorts the processes, and merges those that are in several lists of a card into one. Call it after
 * all lists were read. */
void sample_merge(struct sample *sample);

/* Reads the part of the card's time that each process has used since the last sample. Call it
 * after sample_merge(). */
int sample_shares(const struct sample_nvml *nvml, struct sampler_card *card, struct sample *sample,
                  unsigned device);

#endif
