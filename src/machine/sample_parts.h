/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of taking a sample (sample.h); for sample*.c alone. Values that the driver does not
 * report are left out, and failures are counted; negative errno: no memory.
 */
#ifndef ALIQUOT_MACHINE_SAMPLE_PARTS_H
#define ALIQUOT_MACHINE_SAMPLE_PARTS_H

#include "machine/sample.h"

/* Whether `rc` is a success. Errors count as failures, except a function or value that this GPU or
 * driver lacks or forbids. */
bool sample_told(struct sample *sample, nvmlReturn_t rc);

/* Adds the processes of one of a card's lists. */
int sample_list(const struct sample_nvml *nvml, nvmlDevice_t handle, struct sample *sample,
                unsigned device, unsigned list);

/* After all lists were read: leaves each process once per card, in order. */
void sample_merge(struct sample *sample);

/* Each process's part of a card's time since the last sample. After the merge. */
int sample_shares(const struct sample_nvml *nvml, struct sampler_card *card, struct sample *sample,
                  unsigned device);

#endif
