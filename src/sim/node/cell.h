/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record in memory that processes share, which changes in one step.
 *
 *      struct cell_draft draft;
 *      struct thing *thing;
 *
 *      do {
 *              thing = cell_begin(cell, things, &draft);
 *              ... change *thing ...
 *      } while (!cell_commit(&draft));
 *
 * Who changes it works on a copy that is nobody else's, and puts that in the record's place, if the
 * record is still the one that was copied; otherwise nothing has happened, and it begins anew. So
 * whoever is killed, at any point, holds nobody up and leaves nothing half made: what was not put
 * in place is not there. Nor does who is stopped, while there are copies left for the others.
 * Effects elsewhere come after the commit.
 *
 * There is room for CELL_COPIES of a record. Who writes one holds its robust mutex; a process that
 * is stopped keeps what it holds. One copy is the record and one is for who goes on, so up to
 * CELL_COPIES - 2 may be stopped as they write; with one more the others wait until it goes on or
 * ends.
 */
#ifndef ALIQUOT_SIM_NODE_CELL_H
#define ALIQUOT_SIM_NODE_CELL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/atomic.h"

#define CELL_COPIES 16

/* Begins each record: how much of it means anything, in bytes, this included. */
struct cell_head {
        uint64_t bytes;
};

struct cell {
        _Atomic uint64_t current;          /* how often it has changed * CELL_COPIES + which copy */
        uint64_t stride;                   /* from copy to copy; constant */
        pthread_mutex_t busy[CELL_COPIES]; /* who writes it; never waited for */
};

struct cell_draft {
        struct cell *cell;
        uint64_t seen; /* what it is a copy of */
        unsigned copy;
};

/* The memory is zero. The first copy is the record: its maker fills it in. */
void cell_make(struct cell *cell, size_t stride);

/* A copy of what the record is now; `copies` is an array of CELL_COPIES. It is to be committed or
 * dropped before the next is begun. */
void *cell_begin(struct cell *cell, void *copies, struct cell_draft *draft);

/* False: somebody else was first, and the draft is void. One that changed nothing also makes the
 * drafts of others void, who may go by what its writer did elsewhere before. */
bool cell_commit(struct cell_draft *draft);
void cell_drop(struct cell_draft *draft);

/* The record to look at without a draft: what is read of it counts if it is_current() afterwards.
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
