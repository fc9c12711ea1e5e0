/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordered set of address ranges that do not overlap; finds the range that contains an address.
 *
 *      spans_reserve(&spans)           // before the range exists; false: no memory
 *      spans_put(&spans, span)         // cannot fail; or spans_unreserve()
 *      spans_find(&spans, address)
 *      spans_take(&spans, start)
 *
 * The set is a sorted array from mmap() whose size doubles. Finding a range is a binary search.
 * Adding a range moves the ranges behind it; for a hundred thousand ranges that takes less time
 * than the driver needs to allocate one. The caller's lock guards the set. An all-zero struct is an
 * empty set, so the set may be in memory that fork() wipes.
 */
#ifndef ALIQUOT_SHIM_SPANS_H
#define ALIQUOT_SHIM_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct address_span {
        uint64_t start;
        uint64_t end; /* one past the last byte */
        void *of;     /* the value that spans_find() returns */
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

/* Returns `of` of the range that contains the address; NULL: there is none. */
void *spans_find(const struct spans *spans, uint64_t address);

/* Returns the first range that ends above the address; NULL: there is none. The pointer is valid
 * until the next change. */
const struct address_span *spans_above(const struct spans *spans, uint64_t address);

/* Removes the range that begins at `start`, if there is one. */
void spans_take(struct spans *spans, uint64_t start);

#endif
