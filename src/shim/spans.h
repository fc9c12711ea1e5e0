/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of addresses that do not overlap, in their order: which one does an address lie in?
 *
 *      spans_reserve(&spans)           // before the range is there; false: no memory
 *      spans_put(&spans, span)         // cannot fail; or spans_unreserve()
 *      spans_find(&spans, address)
 *      spans_take(&spans, start)
 *
 * A sorted array from mmap() that doubles: to find is a binary search, to put in moves what lies
 * behind, which for a hundred thousand ranges takes less than what makes one. No locking: one lock
 * of the caller guards it. All zero is an empty one, so it may lie in memory that a fork wipes.
 */
#ifndef ALIQUOT_SHIM_SPANS_H
#define ALIQUOT_SHIM_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct address_span {
        uint64_t start;
        uint64_t end; /* behind its last byte */
        void *of;
};

struct spans {
        struct address_span *span;
        uint64_t count;
        uint64_t reserved;
        uint64_t room;
};

bool spans_reserve(struct spans *spans);
void spans_unreserve(struct spans *spans);
void spans_put(struct spans *spans, struct address_span span);

/* What the range that holds the address stands for; NULL: there is none. */
void *spans_find(const struct spans *spans, uint64_t address);

/* The first one that ends above the address; NULL: there is none. Until the next change. */
const struct address_span *spans_above(const struct spans *spans, uint64_t address);

/* Takes out the one that begins there, if any. */
void spans_take(struct spans *spans, uint64_t start);

#endif
