/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record that changes in one step; see cell.h.
 *
 * A writer with the mutex of a copy may write to it while other threads still read it, because it
 * was the record a moment before. Those readers check afterwards whether the copy is still the
 * record. For that check, the writer has a fence between its check of the record and its first
 * write, and the reader has one between its last read and its second check.
 */
#include "sim/node/cell.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sim/node/robust.h"

/* Pause before the next try when every copy is being written. */
#define NAP_NS 50000

void cell_make(struct cell *cell, size_t stride)
{
        store_relaxed(&cell->current, 0);
        cell->stride = stride;
        for (unsigned i = 0; i < CELL_COPIES; i++)
                robust_init(&cell->busy[i]);
}

/* Locks a copy that is not the record and returns its index. CELL_COPIES: none is free. */
static unsigned copy_take(struct cell *cell, unsigned record)
{
        for (unsigned i = 0; i < CELL_COPIES; i++) {
                int rc = i == record ? EBUSY : pthread_mutex_trylock(&cell->busy[i]);

                if (rc == EOWNERDEAD)
                        rc = pthread_mutex_consistent(&cell->busy[i]);
                if (rc == 0)
                        return i;
        }
        return CELL_COPIES;
}

/* Copies word by word, because another thread may be writing to the source; then the result is
 * discarded. The thread sanitizer must not report that race. */
__attribute__((no_sanitize("thread"))) static void
copy_words(volatile uint64_t *to, const volatile uint64_t *from, uint64_t stride)
{
        uint64_t bytes = from[0];

        if (bytes > stride)
                bytes = stride;
        for (uint64_t i = 0; i < bytes / sizeof(*to); i++)
                to[i] = from[i];
}

void *cell_begin(struct cell *cell, void *copies, struct cell_draft *draft)
{
        for (;;) {
                uint64_t seen = load_acquire(&cell->current);
                unsigned record = seen % CELL_COPIES, copy = copy_take(cell, record);
                char *mine = (char *)copies + copy * cell->stride;

                if (copy == CELL_COPIES) {
                        const struct timespec nap = { .tv_nsec = NAP_NS };

                        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
                        continue;
                }
                /* before it was locked, the copy may have become the record */
                if (cell_is_current(cell, seen)) {
                        copy_words((uint64_t *)mine,
                                   (uint64_t *)((char *)copies + record * cell->stride),
                                   cell->stride);
                        if (cell_is_current(cell, seen)) {
                                *draft = (struct cell_draft){ cell, seen, copy };
                                return mine;
                        }
                }
                pthread_mutex_unlock(&cell->busy[copy]);
        }
}

bool cell_commit(struct cell_draft *draft)
{
        uint64_t seen = draft->seen;
        uint64_t next = (seen / CELL_COPIES + 1) * CELL_COPIES + draft->copy;
        bool is_first = cas_acq_rel(&draft->cell->current, &seen, next);

        pthread_mutex_unlock(&draft->cell->busy[draft->copy]);
        return is_first;
}

void cell_drop(struct cell_draft *draft)
{
        pthread_mutex_unlock(&draft->cell->busy[draft->copy]);
}
