/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a session's processes, read once for a view.
 *
 * It is the sum over living processes, not the ledger's total: that still has the memory of dead
 * processes until another process needs it.
 */
#ifndef ALIQUOT_CLI_USAGE_H
#define ALIQUOT_CLI_USAGE_H

#include "store/store.h"
#include "store/usage.h"

struct usage {
        unsigned count;
        struct usage_process *process; /* PAGE_SLOTS entries; freed by usage_free() */
        uint64_t used_bytes[PAGE_DEVICES];
        uint64_t total_bytes;
        uint64_t host_bytes; /* host memory in place of card memory */
        uint64_t swap_bytes; /* memory that can leave the card, in a session that swaps */
        /* For each device: number of processes that hold memory of it, and how many of these NVML
         * lists for it. */
        unsigned holders[PAGE_DEVICES];
        unsigned measured[PAGE_DEVICES];
};

int usage_read(const struct store_session *session, struct usage *ret, struct error *err);
void usage_free(struct usage *usage);

/* Returns whether a row of the page is in use for a GPU. */
bool usage_has_row(const struct store_session *session, unsigned row);

#endif
