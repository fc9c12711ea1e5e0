/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the limits of a session that others change at this moment; for this folder alone.
 */
#ifndef ALIQUOT_STORE_ROWS_H
#define ALIQUOT_STORE_ROWS_H

#include "common/atomic.h"
#include "proto/page.h"
#include "settings/resolve.h"

/* The row of a GPU; NULL: it has none. */
struct limits_device *rows_find(struct limits_page *page, const uint64_t uuid[2]);

/*
 * Reads the default limit into default_bytes and default_micro_percent. These are two words, and a
 * reader must never see the combination "no part of the card" and "any number of bytes". So they
 * are read twice, in the order in which a change writes them.
 */
void rows_default(const struct limits_page *page, struct settings_limits *ret);

/* The limit of a card without a rule of its own. */
int rows_default_limit(const struct limits_page *page, uint64_t card_bytes, uint64_t *ret,
                       struct error *err);

/* A stored cap as a part of the time, where 0 means no cap. */
static inline uint32_t rows_cap(uint32_t cap_ppm)
{
        return cap_ppm ? cap_ppm : PAGE_WHOLE_PPM;
}

static inline uint32_t rows_default_cap(const struct limits_page *page)
{
        return rows_cap(load_acquire(shared_half(&page->default_cap_ppm)));
}

#endif
