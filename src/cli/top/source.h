/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots from the pages of the sessions and from the driver's NVML; a daemon is asked for what
 * only it knows, and is not needed.
 *
 * Sessions stay mapped from one look to the next, as long as the folder still holds the same files;
 * so a look at hundreds of them is some milliseconds. Both files are other people's: one that is
 * cut short while we read it makes its session a broken one, nothing else. What cannot be read is
 * shown with its reason.
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
        struct usage_process *scratch; /* owned: PAGE_SLOTS of them */
        struct snapshot snapshot;
};

/* From a zeroed source; terms.waits_long may be set. A driver that is not there is no error, a
 * simulated one is. */
int source_open(struct source *source, const struct request_flags *flags, struct error *err);

/* The snapshot is the source's, and valid until the next is read. */
int source_read(struct source *source, const struct snapshot **ret, struct error *err);
void source_close(struct source *source);

#endif
