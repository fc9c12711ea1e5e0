/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads snapshots from the pages of the sessions and from the driver's NVML. A daemon is asked for
 * the rest, but is not required.
 *
 * Sessions stay mapped from one snapshot to the next while the folder has the same files, so a
 * snapshot of hundreds of sessions takes some milliseconds. Other users can write both files: if
 * one is truncated during a read, its session is shown as broken, and nothing else happens.
 * Unreadable sessions are shown with the reason.
 */
#ifndef ALIQUOT_CLI_TOP_SOURCE_H
#define ALIQUOT_CLI_TOP_SOURCE_H

#include "cli/request.h"
#include "cli/top/snapshot.h"
#include "cli/top/source_terms.h"
#include "store/store.h"

struct source_entry;

struct source {
        struct cli_request request; /* its driver and cards */
        bool has_driver;
        char driver_note[200];
        struct store store;         /* path "" as long as there is none */
        struct source_entry *entry; /* owned; in the order of their names */
        size_t count;
        struct source_terms terms;
        struct usage_process *scratch; /* owned: PAGE_SLOTS entries */
        struct snapshot snapshot;
};

/* From a zeroed source; terms.waits_long may be set. A driver that is not there is no error, a
 * simulated one is. */
int source_open(struct source *source, const struct request_flags *flags, struct error *err);

/* The snapshot is the source's, and valid until the next is read. */
int source_read(struct source *source, const struct snapshot **ret, struct error *err);
void source_close(struct source *source);

#endif
