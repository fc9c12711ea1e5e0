/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lane.h: what is done for all lanes of a device, and by the helper.
 */
#include <stddef.h>

#include "common/clock.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"

/* A pause so long is one, and what is late is looked at so often. */
#define GRACE_NS UINT64_C(200000)
#define TEND_NS UINT64_C(1000000)

/* Unless somebody is at it. */
static void reap_free(struct lane *lane)
{
        if (!lane_try(lane))
                return;
        if (load_acquire(&lane->context))
                lane_reap(lane);
        lane_drop(lane);
}

void lanes_reap(struct work *work)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];

                if (load_acquire(&lane->context) && load_relaxed(&lane->work) == work)
                        reap_free(lane);
        }
}

/* All that was let through, by what it should take. */
static bool should_be_done(const struct work *work)
{
        uint64_t until_ns = load_acquire(&work->busy_until_ns);

        return !until_ns || clock_now_ns() >= until_ns + GRACE_NS;
}

struct standing lanes_standing(struct work *work)
{
        uint32_t high = load_acquire(&lanes.high);
        struct standing standing = { 0 };

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];

                if (load_relaxed(&lane->work) != work || !load_relaxed(&lane->blocked_at_ns))
                        continue;
                reap_free(lane);
                if (!load_relaxed(&lane->blocked_at_ns))
                        continue;
                standing.marked_ns += load_relaxed(&lane->in_flight_ns);
                standing.since_ns += load_relaxed(&lane->since_ns);
        }
        return standing;
}

bool lanes_are_done(const struct work *work)
{
        uint32_t high = load_acquire(&lanes.high);
        bool has_tails = false;

        for (uint32_t i = 0; i < high; i++) {
                const struct lane *lane = &lanes.lane[i];

                if (load_relaxed(&lane->work) != work)
                        continue;
                if (lane_is_pending(lane))
                        return false;
                has_tails = has_tails || load_relaxed(&lane->since);
        }
        return !has_tails || should_be_done(work);
}

/* -- What the helper does --------------------------------------------------------------------- */

static bool has_markers(const struct work *work)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                const struct lane *lane = &lanes.lane[i];

                if (load_relaxed(&lane->work) == work && lane_is_pending(lane))
                        return true;
        }
        return false;
}

/* The program launched nothing since: what no marker will measure is told by the next launch that
 * is picked, or charged at the average. */
static void settle_tails(struct work *work)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];

                if (load_relaxed(&lane->work) != work || !load_relaxed(&lane->since) ||
                    !lane_try(lane))
                        continue;
                if (lane_is_gone(lane))
                        lane_bury(lane);
                /* A thread may have counted what it spent as the lane was left. */
                if (!load_acquire(&lane->context) || (!lane_is_pending(lane) && lane->timeline))
                        lane_leave_since(lane);
                lane_drop(lane);
        }
}

static uint64_t work_tend(struct work *work, uint64_t now_ns)
{
        uint64_t until_ns = load_acquire(&work->busy_until_ns);

        if (!until_ns)
                return CLOCK_NEVER;
        if (now_ns < until_ns + GRACE_NS)
                return until_ns + GRACE_NS;
        lanes_reap(work);
        if (has_markers(work)) {
                admit_note_active(&work->admit, now_ns);
                return now_ns + TEND_NS;
        }
        if (!cas_acq_rel(&work->busy_until_ns, &until_ns, 0))
                return now_ns + GRACE_NS;
        settle_tails(work);
        admit_yield(&work->admit, now_ns);
        return CLOCK_NEVER;
}

uint64_t lanes_tend(uint64_t now_ns)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        uint64_t next_ns = CLOCK_NEVER;

        real.cuThreadExchangeStreamCaptureMode(&mode);
        for (unsigned row = 0; row < PAGE_DEVICES; row++) {
                struct work *work = &lanes.work[row];
                uint64_t row_ns =
                        load_acquire(&work->is_ready) ? work_tend(work, now_ns) : CLOCK_NEVER;

                next_ns = row_ns < next_ns ? row_ns : next_ns;
        }
        return next_ns;
}
