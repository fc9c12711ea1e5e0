/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads snapshots from the pages of the sessions and from the driver's NVML. A daemon is asked for
 * values that only it has, but is not required.
 *
 * Sessions stay mapped from one snapshot to the next while the folder has the same files, so a
 * snapshot of hundreds of sessions takes some milliseconds. Other users can write both files of a
 * session (`limits` and `slots`). If one is truncated during a read, that session is shown as
 * broken, without other consequences. A session that cannot be read is shown with the reason.
 */
#ifndef ALIQUOT_CLI_TOP_SOURCE_H
#define ALIQUOT_CLI_TOP_SOURCE_H

#include "cli/request.h"
#include "cli/top/snapshot.h"
#include "cli/top/source_terms.h"
#include "store/store.h"

struct source_entry;

struct source {
        struct cli_request request; /* has the driver and its cards */
        bool has_driver;
        char driver_note[200];
        struct store store;         /* path "" until there is a runtime folder */
        struct source_entry *entry; /* owned; ordered by name */
        size_t count;
        struct source_terms terms;
        struct usage_process *scratch; /* owned: PAGE_SLOTS entries */
        struct snapshot snapshot;
};

/* Opens a source, which must be zeroed, except that terms.waits_long may be set. A missing driver
 * is no error, but a simulated driver that does not start is. */
int source_open(struct source *source, const struct request_flags *flags, struct error *err);

/* Reads a snapshot. The source owns it; it is valid until the next one is read. */
int source_read(struct source *source, const struct snapshot **ret, struct error *err);
void source_close(struct source *source);

#endif
