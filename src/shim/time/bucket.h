/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token bucket of a hard cap on GPU time. All processes of a session share it. It fills by the
 * clock, so no thread has to fill it.
 *
 * The bucket fills at cap_ppm of the time that passes, up to that share of BUCKET_PERIOD_NS.
 * Flights are charged as they are billed (account.h). The level may be negative: a debt always
 * stays, so over any long time the session uses no more than the cap allows. The debt is the
 * session's, also when the process that made it has ended, and it is repaid at the rate of the
 * present cap. (BUCKET_FLOOR_NS, two and a half hours of work, only keeps the sums from
 * overflowing.)
 *
 * Pure, given `now_ns` (clock_now_ns()); the clock is read again only if the page is far ahead of
 * `now_ns`. Any thread of any process; no lock, because both words are swapped together. The page
 * is hostile input: whatever it holds, the level lies between floor and top, a clock in the far
 * future counts as now, and every loop ends.
 */
#ifndef ALIQUOT_SHIM_BUCKET_H
#define ALIQUOT_SHIM_BUCKET_H

#include <stdint.h>

#include "proto/page.h"

#define BUCKET_PERIOD_NS INT64_C(200000000)
#define BUCKET_FLOOR_NS (-(INT64_C(1) << 43))

/* The capacity of the bucket. `cap_ppm` is 1..PAGE_WHOLE_PPM here and below. */
int64_t bucket_top_ns(uint32_t cap_ppm);

/* How much GPU time the session may use now; changes nothing. */
int64_t bucket_level_ns(const struct page_meter *meter, uint32_t cap_ppm, uint64_t now_ns);

/* Takes `ns` out of the bucket; a negative `ns` puts back what was charged in excess. */
void bucket_charge(struct page_meter *meter, uint32_t cap_ppm, uint64_t now_ns, int64_t ns);

/* When the level reaches `wanted_ns` (at most the top) if no process charges meanwhile. */
uint64_t bucket_due_ns(int64_t level_ns, int64_t wanted_ns, uint32_t cap_ppm, uint64_t now_ns);

#endif
