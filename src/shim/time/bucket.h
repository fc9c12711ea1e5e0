/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bucket behind a hard cap on GPU time: shared by all processes of a session, filled by the
 * clock, nobody's task.
 *
 * It fills at cap_ppm of the time that passes, up to that share of BUCKET_PERIOD_NS. Flights are
 * charged as they are billed (account.h). The level may be negative: a debt is never forgiven, so
 * over any long time no more is used than the cap has given. It is the session's, whoever of its
 * processes made it and whether that one lives, and it is paid back at the rate of the cap that
 * holds. (BUCKET_FLOOR_NS, two and a half hours of work, only keeps the sums from overflowing.)
 *
 * Pure given `now_ns` (clock_now_ns()), which is read again only where the page is far ahead of it.
 * Any thread of any process; no lock: both words are swapped together. The page is hostile input:
 * whatever it holds, the level is between the floor and the top, a clock in the far future is taken
 * for now, and nothing loops without end.
 */
#ifndef ALIQUOT_SHIM_BUCKET_H
#define ALIQUOT_SHIM_BUCKET_H

#include <stdint.h>

#include "proto/page.h"

#define BUCKET_PERIOD_NS INT64_C(200000000)
#define BUCKET_FLOOR_NS (-(INT64_C(1) << 43))

/* The fullest it gets. `cap_ppm` is 1..PAGE_WHOLE_PPM here and below. */
int64_t bucket_top_ns(uint32_t cap_ppm);

/* How much GPU time may be used now; changes nothing. */
int64_t bucket_level_ns(const struct page_meter *meter, uint32_t cap_ppm, uint64_t now_ns);

/* Takes `ns` out, or puts back what was taken in excess (negative). */
void bucket_charge(struct page_meter *meter, uint32_t cap_ppm, uint64_t now_ns, int64_t ns);

/* When the level will have reached `wanted_ns` (at most the top) if nobody charges meanwhile. */
uint64_t bucket_due_ns(int64_t level_ns, int64_t wanted_ns, uint32_t cap_ppm, uint64_t now_ns);

#endif
