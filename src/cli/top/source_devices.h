/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of a snapshot: those of the driver, and those that only sessions' pages mention.
 */
#ifndef ALIQUOT_CLI_TOP_SOURCE_DEVICES_H
#define ALIQUOT_CLI_TOP_SOURCE_DEVICES_H

#include "cli/top/source.h"

/* Opens the driver's NVML, as source_open() describes. */
int source_devices_open(struct source *source, const struct request_flags *flags,
                        struct error *err);
void source_devices_close(struct source *source);

/* Reads the driver's GPUs. Call it before the sessions are read. */
void source_devices_read(struct source *source, struct snapshot *ret);

/* Finds or adds the GPU of a share, and adds the memory that the session holds on it. */
void source_devices_add(struct snapshot *snapshot, struct snapshot_share *share);

#endif
