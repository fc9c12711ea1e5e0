/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lane.h: launches, and bursts (burst.h), that nothing measured, and who tells of them.
 */
#include <stddef.h>

#include "common/clock.h"
#include "shim/cuda/lanes.h"
#include "shim/sample.h"

/* One launch that was measured tells of so many others at most; and by such a part of it the
 * longest of late is forgotten with each. */
#define UNMEASURED_MOST 1000u
#define LONGEST_PARTS 4096u
/* The mean of so many bursts. */
#define BURST_MEAN_PARTS 64

/* Those that were paid for by their own cost took that: what others take says nothing of them. */
static void take_since(struct lane *lane)
{
        const struct admit *admit = &load_relaxed(&lane->work)->admit;
        struct launched since = lane_take_since(lane);

        if (since.own) {
                admit_note_sampled(admit, since.own_ns);
                admit_settle(admit, since.own_ns, since.own_ns, since.own, clock_now_ns());
        }
        lane->unmeasured += since.pieces - since.own;
        lane->unmeasured_ns += since.paid_ns - since.own_ns;
}

/* All of them together. */
static void charge_unmeasured(struct lane *lane, uint64_t took_ns)
{
        uint32_t pieces = lane->unmeasured;
        uint64_t paid_ns = lane->unmeasured_ns;
        const struct admit *admit = &load_relaxed(&lane->work)->admit;

        lane->unmeasured = lane->bursts = 0;
        lane->unmeasured_ns = 0;
        if (!pieces)
                return;
        admit_note_sampled(admit, took_ns);
        admit_settle(admit, paid_ns, took_ns, pieces, clock_now_ns());
}

/* Each of them took so long. */
void lane_settle_unmeasured(struct lane *lane, uint64_t each_ns)
{
        charge_unmeasured(lane, lane->unmeasured * each_ns);
}

void lane_settle_since(struct lane *lane)
{
        take_since(lane);
        lane_settle_unmeasured(lane, lane_expect(lane, 0, false).estimate.mean_ns);
}

/* Of the one launch, or burst, that was measured. */
void lane_note_longest(struct lane *lane, uint64_t length_ns)
{
        lane->longest_ns -= lane->longest_ns / LONGEST_PARTS;
        if (lane->longest_ns < length_ns)
                lane->longest_ns = length_ns;
}

/* Of one so long more would have been measured, had anybody known: so it stands for no more. */
static uint64_t alike_of(const struct lane *lane, uint64_t mean_ns)
{
        uint64_t most = sample_mean(mean_ns, lane->burst_ns);

        return lane->burst_ns > 2 * lane->longest_ns && most < lane->bursts ? most : lane->bursts;
}

static void tell_of_bursts(struct lane *lane)
{
        int64_t off_ns = (int64_t)(lane->burst_ns - lane->burst_mean_ns);
        uint64_t mean_ns = lane->burst_mean_ns ? lane->burst_mean_ns : lane->burst_ns;
        uint64_t alike = alike_of(lane, mean_ns ? mean_ns : 1);

        charge_unmeasured(lane, alike * lane->burst_ns + (lane->bursts - alike) * mean_ns);
        lane_note_longest(lane, lane->burst_ns);
        lane->burst_mean_ns += (uint64_t)(lane->burst_mean_ns ? off_ns / BURST_MEAN_PARTS : off_ns);
}

/* They come in order. */
void lane_sum_up(struct lane *lane, uint32_t burst, uint64_t took_ns, bool is_sure)
{
        if (lane->summed != burst) {
                lane->burst_ns = 0;
                lane->is_burst_sure = true;
        }
        lane->summed = burst;
        lane->burst_ns += took_ns;
        lane->is_burst_sure = lane->is_burst_sure && is_sure;
}

void lane_tell_of_bursts(struct lane *lane, uint32_t burst)
{
        lane_sum_up(lane, burst, 0, true);
        if (lane->is_burst_sure)
                tell_of_bursts(lane);
}

void lane_settle_bursts(struct lane *lane)
{
        if (lane->bursts && lane->burst_mean_ns)
                charge_unmeasured(lane, lane->bursts * lane->burst_mean_ns);
        else if (lane->bursts)
                lane_settle_unmeasured(lane, lane_expect(lane, 0, false).estimate.mean_ns);
}

/* Launches of a burst that is measured: what they took is part of it. */
static void settle_of_burst(struct lane *lane)
{
        struct launched since = lane_take_since(lane);
        uint32_t others = since.pieces - since.own;
        uint64_t took_ns = others * lane_expect(lane, 0, false).estimate.mean_ns;

        if (lane->is_picked)
                lane_sum_up(lane, lane->burst, took_ns, true);
        if (since.pieces)
                admit_settle(&load_relaxed(&lane->work)->admit, since.paid_ns,
                             took_ns + since.own_ns, since.pieces, clock_now_ns());
}

void lane_leave_part(struct lane *lane)
{
        uint64_t before_ns = lane->unmeasured_ns;

        if (!load_relaxed(&lane->since))
                return;
        take_since(lane);
        lane->left_ns += lane->unmeasured_ns - before_ns;
        lane->has_left = true;
}

/* What was paid for it by the average of other bursts may be much too much. */
static void pay_back(struct lane *lane, uint64_t paid_ns)
{
        /* One before it may have told of a part by now. */
        if (paid_ns > lane->unmeasured_ns)
                paid_ns = lane->unmeasured_ns;
        if (!lane->burst_mean_ns || paid_ns <= 2 * lane->burst_mean_ns)
                return;
        lane->unmeasured_ns -= paid_ns - lane->burst_mean_ns;
        admit_refund(&load_relaxed(&lane->work)->admit, paid_ns - lane->burst_mean_ns,
                     clock_now_ns());
}

void lane_leave_burst(struct lane *lane)
{
        lane_leave_part(lane);
        pay_back(lane, lane->left_ns);
        lane->left_ns = 0;
        lane->bursts++;
}

void lane_leave_since(struct lane *lane)
{
        if (lane->has_bursts && lane->timeline) {
                if (lane->is_measuring)
                        settle_of_burst(lane);
                return;
        }
        take_since(lane);
        if (!lane->timeline || !lane->is_drawing || lane->unmeasured > UNMEASURED_MOST)
                lane_settle_since(lane);
}
