/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the limits of a session that other processes may change at the same time. Only src/store
 * includes this file.
 */
#ifndef ALIQUOT_STORE_ROWS_H
#define ALIQUOT_STORE_ROWS_H

#include "common/atomic.h"
#include "proto/page.h"
#include "settings/resolve.h"

/* Returns the row of a GPU; NULL if it has none. */
struct limits_device *rows_find(struct limits_page *page, const uint64_t uuid[2]);

/*
 * Reads the default limit into default_bytes and default_micro_percent. These are two words that a
 * change does not write at one instant. A reader must never combine "no percentage" of one default
 * with "unlimited bytes" of the other, because that means no limit. So the percentage is read
 * before and after the bytes, and both are read again if it changed; a change writes the words in a
 * matching order.
 */
void rows_default(const struct limits_page *page, struct settings_limits *ret);

/* Computes the limit of a card without a rule of its own, which has `card_bytes` of memory. */
int rows_default_limit(const struct limits_page *page, uint64_t card_bytes, uint64_t *ret,
                       struct error *err);

/* Returns a stored cap as a part of the time: 0 means no cap, which is the whole time. */
static inline uint32_t rows_cap(uint32_t cap_ppm)
{
        return cap_ppm ? cap_ppm : PAGE_WHOLE_PPM;
}

static inline uint32_t rows_default_cap(const struct limits_page *page)
{
        return rows_cap(load_acquire(shared_half(&page->default_cap_ppm)));
}

#endif
