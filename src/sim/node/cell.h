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
 * A writer works on a private copy and then makes that the record, if the record is still the one
 * that was copied; otherwise nothing has happened, and the writer begins again. So a writer that is
 * killed at any point blocks no other process and leaves no partial change. Nor does a stopped
 * writer, while copies are left for the others. Effects elsewhere come after the commit.
 *
 * There are CELL_COPIES copies of a record. A writer holds the robust mutex of its copy; a stopped
 * process keeps it. One copy is the record and one is needed to go on, so up to CELL_COPIES - 2
 * writers may be stopped; with one more, the others wait until it goes on or ends.
 */
#ifndef ALIQUOT_SIM_NODE_CELL_H
#define ALIQUOT_SIM_NODE_CELL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/atomic.h"

#define CELL_COPIES 16

/* Begins each record: its length in bytes, including this. */
struct cell_head {
        uint64_t bytes;
};

struct cell {
        _Atomic uint64_t current; /* number of changes * CELL_COPIES + index of the current copy */
        uint64_t stride;          /* from copy to copy; constant */
        pthread_mutex_t busy[CELL_COPIES]; /* held by the writer of that copy; never waited for */
};

struct cell_draft {
        struct cell *cell;
        uint64_t seen; /* the value of `current` when it was copied */
        unsigned copy;
};

/* The memory is zero. The first copy is the record: the caller fills it in. */
void cell_make(struct cell *cell, size_t stride);

/* Copies the present record; `copies` is an array of CELL_COPIES. Commit or drop the draft before
 * the next cell_begin(). */
void *cell_begin(struct cell *cell, void *copies, struct cell_draft *draft);

/* False: another writer committed first, and the draft is void. A commit without changes also voids
 * other drafts, which may depend on what this writer did elsewhere before. */
bool cell_commit(struct cell_draft *draft);
void cell_drop(struct cell_draft *draft);

/* The record, for reading without a draft: what was read is valid if it is_current() afterwards.
 * Atomic fields only. */
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
