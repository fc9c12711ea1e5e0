/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordered set of address ranges that do not overlap; finds the range that holds an address.
 *
 *      spans_reserve(&spans)           // before the range is there; false: no memory
 *      spans_put(&spans, span)         // cannot fail; or spans_unreserve()
 *      spans_find(&spans, address)
 *      spans_take(&spans, start)
 *
 * The set is a sorted array from mmap() that doubles. Finding is a binary search. Adding moves the
 * ranges behind, which for a hundred thousand ranges takes less time than the driver needs to make
 * one. The caller's lock guards the set. All zero is an empty set, so the set may lie in memory
 * that fork() wipes.
 */
#ifndef ALIQUOT_SHIM_SPANS_H
#define ALIQUOT_SHIM_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct address_span {
        uint64_t start;
        uint64_t end; /* one past the last byte */
        void *of;     /* what spans_find() answers */
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

/* `of` of the range that holds the address; NULL: no range does. */
void *spans_find(const struct spans *spans, uint64_t address);

/* The first range that ends above the address; NULL: no range does. The pointer is good until the
 * next change. */
const struct address_span *spans_above(const struct spans *spans, uint64_t address);

/* Removes the range that begins at `start`, if there is one. */
void spans_take(struct spans *spans, uint64_t start);

#endif
