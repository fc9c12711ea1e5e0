/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's words in shared memory: functions that read them, and the arithmetic of tags and
 * sums. Only ledger.c includes this file.
 *
 * Each word of a row except `done` has one writer at a time. That writer reads its word with
 * read_own(). All other readers use read_word(), as does the code that reads words with several
 * writers.
 */
#ifndef ALIQUOT_CORE_LEDGER_WORDS_H
#define ALIQUOT_CORE_LEDGER_WORDS_H

#include "common/atomic.h"
#include "common/minmax.h"
#include "core/ledger.h"

static inline uint64_t read_word(const uint64_t *word)
{
        return load_acquire(shared_word(word));
}

/* Reads a word of a row that only the calling process may write. */
static inline uint64_t read_own(const uint64_t *word)
{
        return load_relaxed(shared_word(word));
}

static inline struct page_row *row_of(const struct ledger *ledger, uint32_t slot, unsigned device)
{
        return &ledger->slots->row[slot][device];
}

static inline struct page_row *actor_row(const struct ledger_op *op, const struct ledger *ledger)
{
        return row_of(ledger, op->actor, op->device);
}

static inline uint64_t seq_after(uint64_t committed)
{
        return (committed + 1) & LEDGER_SEQ_MASK;
}

static inline uint64_t tag_of(uint32_t slot, uint64_t seq)
{
        return (uint64_t)slot << LEDGER_SEQ_BITS | seq;
}

static inline uint32_t tag_slot(uint64_t tag)
{
        return (uint32_t)(tag >> LEDGER_SEQ_BITS);
}

_Static_assert(PAGE_SLOTS == 1u << (64 - LEDGER_SEQ_BITS), "any tag names a slot of the page");

static inline bool is_growing(uint64_t delta)
{
        return (int64_t)delta > 0;
}

/* Limits a value from a row to LEDGER_MAX_BYTES. A damaged row may hold any value, and giving back
 * a huge one would look like a charge. */
static inline uint64_t within(uint64_t bytes)
{
        return min_u64(bytes, LEDGER_MAX_BYTES);
}

static inline uint64_t used_after(uint64_t used, uint64_t delta)
{
        /* The sum would fall below zero only if a process damaged the page. */
        if (!is_growing(delta) && used < -delta)
                return 0;
        return used + delta;
}

#endif
