/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session's processes hold, read once for a view.
 *
 * That is the sum over those that live, not the ledger's word: what a dead process held is in that
 * until somebody needs it, and is nobody's use any more.
 */
#ifndef ALIQUOT_CLI_USAGE_H
#define ALIQUOT_CLI_USAGE_H

#include "store/store.h"
#include "store/usage.h"

struct usage {
        unsigned count;
        struct usage_process *process; /* PAGE_SLOTS of them; usage_free() */
        uint64_t used_bytes[PAGE_DEVICES];
        uint64_t total_bytes;
        uint64_t host_bytes; /* of the host's memory in place of cards' */
        uint64_t swap_bytes; /* of what can leave the card of a session that swaps */
        /* Processes that hold something of a device, and those of them that NVML lists there. */
        unsigned holders[PAGE_DEVICES];
        unsigned measured[PAGE_DEVICES];
};

int usage_read(const struct store_session *session, struct usage *ret, struct error *err);
void usage_free(struct usage *usage);

/* Whether a row of the page stands for a GPU. */
bool usage_has_row(const struct store_session *session, unsigned row);

#endif
