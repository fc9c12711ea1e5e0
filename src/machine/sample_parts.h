/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a look at the cards (sample.h); for sample*.c alone. What the driver does not tell
 * is left out, and failures are counted; negative errno: no memory.
 */
#ifndef ALIQUOT_MACHINE_SAMPLE_PARTS_H
#define ALIQUOT_MACHINE_SAMPLE_PARTS_H

#include "machine/sample.h"

/* Whether the driver told it by `rc`; a refusal is counted as a failure, but for that of a function
 * that is not here. */
bool sample_told(struct sample *sample, nvmlReturn_t rc);

/* Adds the processes of one of a card's lists. */
int sample_list(const struct sample_nvml *nvml, nvmlDevice_t handle, struct sample *sample,
                unsigned device, unsigned list);

/* All lists were read: each process stands once for each of its cards, in order. */
void sample_merge(struct sample *sample);

/* What part of a card's time its processes had since the look before. After the merge. */
int sample_shares(const struct sample_nvml *nvml, struct sampler_card *card, struct sample *sample,
                  unsigned device);

#endif
