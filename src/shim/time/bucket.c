/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token bucket; bucket.h has the contract. The two words are not read at one instant. If they
 * do not belong together, the swap of bucket_charge() fails and is repeated. A mere reading may
 * then be wrong by one charge of another process; the next reading is right.
 */
#include "shim/time/bucket.h"

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "common/swap128.h"

/* Clock readings of several processes differ by less than this. A greater difference means that
 * the page is damaged. */
#define AHEAD_NS UINT64_C(1000000000)
/* A bucket that was never used holds this part of its capacity. */
#define FIRST_PARTS 10
/* Fractions of a nanosecond are kept only for shorter times than this. */
#define EXACT_NS UINT64_C(1000000000)
/* The longest time for which the bucket is filled at once, so that the products stay below 2^63.
 * A process that waits for the bucket fills it more often. */
#define ELAPSED_NS (UINT64_C(1) << 43)
/* How often a swap is tried. Each failure is another process's charge; so many failures mean
 * that a process damages the page on purpose. */
#define SWAP_TRIES 10000u

int64_t bucket_top_ns(uint32_t cap_ppm)
{
        int64_t top_ns = BUCKET_PERIOD_NS * (int64_t)cap_ppm / (int64_t)PAGE_WHOLE_PPM;

        return top_ns > 0 ? top_ns : 1;
}

/* Returns the present time for a process that may have been stopped after it read `now_ns`. If
 * others have filled the bucket up to a much later time, reads the clock again, and uses it
 * unless no process could have written that time. */
static uint64_t now_again(uint64_t filled_at_ns, uint64_t now_ns)
{
        uint64_t later_ns;

        if (filled_at_ns <= now_ns || filled_at_ns - now_ns < AHEAD_NS)
                return now_ns;
        later_ns = clock_now_ns();
        return filled_at_ns <= later_ns ? later_ns : now_ns;
}

/* Returns the time up to which the bucket is filled at `now_ns`. It never goes back, because
 * time for which the bucket was filled must not fill it again. Time too short for a nanosecond
 * of the cap is kept for later, however often a process asks. */
static uint64_t filled_at(uint64_t filled_at_ns, uint32_t cap_ppm, uint64_t now_ns)
{
        uint64_t elapsed_ns = now_ns - filled_at_ns;

        if (filled_at_ns > now_ns)
                return filled_at_ns - now_ns < AHEAD_NS ? filled_at_ns : now_ns;
        if (elapsed_ns > EXACT_NS)
                return now_ns;
        return now_ns - elapsed_ns * cap_ppm % PAGE_WHOLE_PPM / cap_ppm;
}

/* Returns the level at `now_ns`. `words`: bucket_ns and filled_at_ns as read from the page. A
 * bucket that was never used is partly full. */
static int64_t level_at(const uint64_t words[2], uint32_t cap_ppm, uint64_t now_ns)
{
        int64_t top_ns = bucket_top_ns(cap_ppm);
        uint64_t elapsed_ns = now_ns > words[1] ? now_ns - words[1] : 0;
        int64_t level_ns = clamp_i64((int64_t)words[0], BUCKET_FLOOR_NS, top_ns);

        if (!words[1])
                return top_ns / FIRST_PARTS > 0 ? top_ns / FIRST_PARTS : 1;
        if (elapsed_ns > ELAPSED_NS)
                elapsed_ns = ELAPSED_NS;
        level_ns += (int64_t)(elapsed_ns * cap_ppm / PAGE_WHOLE_PPM);
        return clamp_i64(level_ns, BUCKET_FLOOR_NS, top_ns);
}

static void read_words(const struct page_meter *meter, uint64_t ret[2])
{
        ret[0] = load_acquire(shared_word(&meter->bucket_ns));
        ret[1] = load_acquire(shared_word(&meter->filled_at_ns));
}

int64_t bucket_level_ns(const struct page_meter *meter, uint32_t cap_ppm, uint64_t now_ns)
{
        uint64_t words[2];

        read_words(meter, words);
        return level_at(words, cap_ppm, now_ns);
}

void bucket_charge(struct page_meter *meter, uint32_t cap_ppm, uint64_t now_ns, int64_t ns)
{
        /* Cut to more than any work takes, so that no sum overflows. */
        int64_t charge_ns = clamp_i64(ns, BUCKET_FLOOR_NS, -BUCKET_FLOOR_NS);
        uint64_t words[2], next[2];

        for (unsigned i = 0; i < SWAP_TRIES; i++) {
                int64_t level_ns;

                read_words(meter, words);
                now_ns = now_again(words[1], now_ns);
                level_ns = level_at(words, cap_ppm, now_ns);
                next[0] = (uint64_t)clamp_i64(level_ns - charge_ns, BUCKET_FLOOR_NS,
                                              bucket_top_ns(cap_ppm));
                next[1] = filled_at(words[1], cap_ppm, now_ns);
                if (swap128(&meter->bucket_ns, words, next))
                        return;
        }
}

uint64_t bucket_due_ns(int64_t level_ns, int64_t wanted_ns, uint32_t cap_ppm, uint64_t now_ns)
{
        int64_t missing_ns =
                clamp_i64(wanted_ns, BUCKET_FLOOR_NS, bucket_top_ns(cap_ppm)) - level_ns;
        uint64_t rate = cap_ppm ? cap_ppm : 1;

        if (missing_ns <= 0)
                return now_ns;
        /* rounded up, so that a process that wakes up at that time finds enough */
        return now_ns + ((uint64_t)missing_ns * PAGE_WHOLE_PPM + rate - 1) / rate;
}
