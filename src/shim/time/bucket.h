/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token bucket of a hard cap on GPU time. All processes of a session share it. It fills by the
 * clock, so no thread has to fill it.
 *
 * The bucket fills at cap_ppm of the time that passes. Its capacity is cap_ppm of BUCKET_PERIOD_NS.
 * Flights are charged as they are billed (account.h). The level may be negative: a debt always
 * stays, so over any long time the session uses no more than the cap allows. The debt belongs to
 * the session, even when the process that caused it has ended, and it is repaid at the rate of the
 * present cap. (BUCKET_FLOOR_NS, two and a half hours of work, only keeps the sums from
 * overflowing.)
 *
 * The functions depend only on the page and `now_ns` (clock_now_ns()); they read the clock again
 * only if the page is far ahead of `now_ns`. Any thread of any process may call. There is no lock,
 * because both words of the bucket are swapped together. The page is hostile input: whatever it
 * holds, the level lies between the floor and the capacity, a fill time in the far future counts as
 * now, and every loop ends.
 */
#ifndef ALIQUOT_SHIM_BUCKET_H
#define ALIQUOT_SHIM_BUCKET_H

#include <stdint.h>

#include "proto/page.h"

#define BUCKET_PERIOD_NS INT64_C(200000000)
#define BUCKET_FLOOR_NS (-(INT64_C(1) << 43))

/* Returns the capacity of the bucket. In all functions here, `cap_ppm` is from 1 to
 * PAGE_WHOLE_PPM. */
int64_t bucket_top_ns(uint32_t cap_ppm);

/* Returns how much GPU time the session may use now. Changes nothing. */
int64_t bucket_level_ns(const struct page_meter *meter, uint32_t cap_ppm, uint64_t now_ns);

/* Takes `ns` out of the bucket. A negative `ns` puts back what was charged in excess. */
void bucket_charge(struct page_meter *meter, uint32_t cap_ppm, uint64_t now_ns, int64_t ns);

/* Returns when the level reaches `wanted_ns` (at most the capacity) if no process charges
 * meanwhile. */
uint64_t bucket_due_ns(int64_t level_ns, int64_t wanted_ns, uint32_t cap_ppm, uint64_t now_ns);

#endif
