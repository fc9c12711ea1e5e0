/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record in shared memory that changes in one step.
 *
 *      struct cell_draft draft;
 *      struct thing *thing;
 *
 *      do {
 *              thing = cell_begin(cell, things, &draft);
 *              ... change *thing ...
 *      } while (!cell_commit(&draft));
 *
 * A writer changes a private copy. The commit makes this copy the record, if the record is still
 * the one that was copied. Otherwise nothing has changed, and the writer begins again. So a writer
 * that is killed at any point blocks no other process and leaves no partial change. A stopped
 * writer blocks no other process either, as long as unused copies are left. A writer makes changes
 * outside the record only after the commit.
 *
 * There are CELL_COPIES copies of a record. A writer holds the robust mutex of its copy; a stopped
 * process keeps it. One copy is the record and the next writer needs another one, so up to
 * CELL_COPIES - 2 writers may be stopped. If one more stops, all writers wait until one of the
 * stopped processes continues or ends.
 */
#ifndef ALIQUOT_SIM_NODE_CELL_H
#define ALIQUOT_SIM_NODE_CELL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/atomic.h"

#define CELL_COPIES 16

/* The first field of each record: its length in bytes, including this head. */
struct cell_head {
        uint64_t bytes;
};

struct cell {
        _Atomic uint64_t current; /* number of changes * CELL_COPIES + index of the current copy */
        uint64_t stride;          /* bytes from one copy to the next; constant */
        /* the writer of copy i holds mutex i; only trylock is used, so nothing waits for it */
        pthread_mutex_t busy[CELL_COPIES];
};

struct cell_draft {
        struct cell *cell;
        uint64_t seen; /* the value of `current` when the record was copied */
        unsigned copy;
};

/* Initialises a cell in zeroed memory. The first copy is the record, which the caller fills in. */
void cell_make(struct cell *cell, size_t stride);

/* Begins a draft: copies the present record into a free one of `copies` (CELL_COPIES of them) and
 * returns that. Commit or drop the draft before the next cell_begin(). */
void *cell_begin(struct cell *cell, void *copies, struct cell_draft *draft);

/* Makes the draft the record. False: another writer committed first, and the draft is void. A
 * commit without changes is useful too: it makes the drafts of others void, which may depend on
 * something outside the record that this writer changed before. */
bool cell_commit(struct cell_draft *draft);
void cell_drop(struct cell_draft *draft);

/* Returns the record for reading without a draft. Read only atomic fields; the values are valid if
 * cell_is_current() is true afterwards. */
static inline const void *cell_look(const struct cell *cell, const void *copies, uint64_t *ret_seen)
{
        *ret_seen = load_acquire(&cell->current);
        return (const char *)copies + *ret_seen % CELL_COPIES * cell->stride;
}

static inline bool cell_is_current(const struct cell *cell, uint64_t seen)
{
        fence_seq_cst();
        return load_acquire(&cell->current) == seen;
}

#endif
