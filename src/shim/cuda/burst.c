/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See burst.h.
 */
#include "shim/cuda/burst.h"

#include "common/clock.h"
#include "shim/cuda/ask.h"
#include "shim/cuda/credits.h"
#include "shim/sample.h"

bool burst_is_open(const struct credit *credit, const struct lane *lane)
{
        return credit->lane == (uintptr_t)lane &&
               (int32_t)credit_unspent(credit) != credit->at_wait;
}

/* Then a thread's wait says nothing of the others. */
static bool is_mixed(const struct lane *lane)
{
        return work_is_mixed(load_relaxed(&lane->work), clock_now_ns());
}

bool burst_is_measured(struct lane *lane, bool is_open)
{
        lane->has_bursts = lane->has_bursts && !is_mixed(lane);
        if (!lane->has_bursts)
                return true;
        if (!is_open) {
                lane->is_measuring = !lane->bursts_to_skip;
                lane->burst_ns = 0;
                lane->is_burst_sure = true;
        } else if (!lane->is_measuring && load_relaxed(&lane->since_ns) > 2 * SAMPLE_NS) {
                lane->has_bursts = false; /* it does not wait any more */
        }
        return lane->is_measuring || !lane->has_bursts;
}

/* The next is measured. */
static void draw(struct lane *lane, struct credit *credit)
{
        if (lane->bursts_to_skip)
                lane->bursts_to_skip--;
        if (!lane->bursts_to_skip)
                credit_stop(credit);
}

static void close_measured(struct lane *lane)
{
        uint32_t samples = lane->piece.samples;
        uint64_t mean =
                lane->burst_mean_ns ? sample_mean(lane->burst_mean_ns, lane->longest_ns) : 1;
        uint64_t most = 1u << (samples < SAMPLE_BITS ? samples : SAMPLE_BITS);
        struct relaxed was = relax();

        if (!may_be_capturing(lane->stream))
                lane_mark_last(lane);
        unrelax(was);
        lane->is_measuring = false;
        lane->bursts_to_skip = sample_gap(mean < most ? mean : most);
}

void burst_close(struct credit *credit)
{
        struct lane *lane = (struct lane *)(uintptr_t)credit->lane;

        if (!burst_is_open(credit, lane))
                return;
        credit_count(credit);
        credit->at_wait = (int32_t)credit_unspent(credit);
        if (load_acquire(&lane->context) != credit->context || !lane_try(lane))
                return;
        if (load_acquire(&lane->context) == credit->context && lane->timeline && !is_mixed(lane)) {
                lane_reap(lane);
                if (lane->has_bursts && !lane->is_measuring)
                        lane_leave_burst(lane);
                else
                        close_measured(lane);
                lane->has_bursts = true;
                draw(lane, credit);
        }
        lane_drop(lane);
}
