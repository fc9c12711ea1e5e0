/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lane.h: what the work between two markers took.
 */
#include <stddef.h>

#include "common/clock.h"
#include "shim/cost.h"
#include "shim/cuda/front.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"
#include "shim/cuda/timeline.h"
#include "shim/stamp.h"

/* Of a launch, and of a compound one in launches, before any was measured. */
#define UNKNOWN_NS UINT64_C(50000)
#define UNKNOWN_COMPOUND_PIECES 16u
/* How far back "of late" goes. */
#define LATE_NS UINT64_C(100000000)
/* What is passed is seen to be so much later, at most. */
#define EARLY_NS 20000
/* Where a program waits late for one, so many are measured launch by launch. */
#define WARY_BURSTS 8u
/* Without events for so long, then they are tried again; so long an anchor may be to come. */
#define RETIME_NS UINT64_C(1000000000)

/* -- What work took --------------------------------------------------------------------------- */

/* Of launches one after the other, whichever they are; under the work's lock. */
static struct expected expect_any(const struct lane *lane)
{
        const struct estimate *piece =
                lane->piece.samples ? &lane->piece : &load_relaxed(&lane->work)->piece;
        struct expected expected = { .estimate = *piece, .is_unknown = !lane->piece.samples };

        if (!piece->samples)
                expected.estimate.mean_ns = UNKNOWN_NS;
        return expected;
}

/* Without events nothing is learned of one. */
static struct expected expect_one(struct lane *lane, uint64_t what, bool is_compound)
{
        struct expected expected = expect_any(lane);
        struct cost cost = { 0 };

        if (what && lane->timeline)
                cost = cost_of(what);
        if (!what || (!lane->timeline && !is_compound))
                return expected;
        if (!lane->timeline) {
                expected.is_own = true;
                if (expected.is_unknown)
                        expected.estimate.mean_ns *= UNKNOWN_COMPOUND_PIECES;
                return expected;
        }
        expected.is_unknown = !cost.estimate.samples;
        expected.is_own = is_compound || expected.is_unknown || cost_is_long(&cost);
        expected.is_pending = cost.pending > 0;
        if (!expected.is_unknown && (expected.is_own || !lane->piece.samples))
                expected.estimate = cost.estimate;
        else if (expected.is_unknown && is_compound)
                expected.estimate.mean_ns *= UNKNOWN_COMPOUND_PIECES;
        return expected;
}

struct expected lane_expect(struct lane *lane, uint64_t what, bool is_compound)
{
        struct work *work = load_relaxed(&lane->work);
        struct expected expected;

        lock_take(&work->lock);
        expected = expect_one(lane, what, is_compound);
        if (work->length_ns)
                expected.estimate.mean_ns =
                        (uint64_t)((double)expected.estimate.mean_ns * (double)work->alone_ns /
                                   (double)work->length_ns);
        lock_drop(&work->lock);
        if (what && !expected.is_own)
                cost_trust(what);
        return expected;
}

uint32_t lane_unknown(const struct lane *lane)
{
        uint32_t unknown = 0, count = load_relaxed(&lane->count);

        for (uint32_t i = 0; i < count; i++)
                unknown += lane->marker[(lane->first + i) % LANE_MARKERS].is_unknown;
        return unknown;
}

/* No lane will tell of anything before this. Under the work's lock. */
static int64_t watermark(const struct work *work, int64_t at_ns)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                const struct lane *lane = &lanes.lane[i];
                int64_t last_ns = load_relaxed(&lane->last_ns);

                if (load_relaxed(&lane->work) == work && lane_is_pending(lane) && last_ns < at_ns)
                        at_ns = last_ns;
        }
        return at_ns;
}

/* The work before the marker, as it was told: the marker's own time is ours. The one before it took
 * its own, too, before it was passed, also in a stream that was idle. */
static struct sample sample_of(struct lane *lane, const struct marker *marker,
                               const struct stamp *to)
{
        struct work *work = load_relaxed(&lane->work);
        int64_t from_ns = load_relaxed(&lane->last_ns);
        struct sample sample = {
                .apart_ns = to->at_ns > from_ns ? (uint64_t)(to->at_ns - from_ns) : 0,
                .unseen_ns = marker->unseen_ns,
                .paid_ns = marker->paid_ns,
                .is_moved = lane->is_last_moved || to->is_moved,
                .is_early = to->is_early,
        };
        uint64_t own_ns;

        lock_take(&work->lock);
        own_ns = work->marker.mean_ns;
        /* What was paid is the part that it should have for itself. */
        if (work->alone_ns)
                sample.paid_ns = (uint64_t)((double)sample.paid_ns * (double)work->length_ns /
                                            (double)work->alone_ns);
        lock_drop(&work->lock);
        if (marker->lead_ns > own_ns)
                sample.lead_ns = marker->lead_ns - own_ns;
        sample.apart_ns -= own_ns < sample.apart_ns / 4 ? own_ns : sample.apart_ns / 4;
        return sample;
}

/* What the work before the marker took. */
static uint64_t judged(struct lane *lane, const struct marker *marker, const struct stamp *to,
                       bool *is_sure)
{
        struct sample sample = sample_of(lane, marker, to);

        return sample_took_ns(&sample, &lane->doubts, is_sure);
}

/* What of an interval nothing else covered; under the work's lock. */
static uint64_t cover(struct work *work, int64_t from_ns, int64_t to_ns)
{
        uint64_t took_ns = spans_add(&work->spans, from_ns, to_ns);

        work->length_ns += (uint64_t)(to_ns - from_ns);
        work->alone_ns += took_ns;
        if (work->length_ns > LATE_NS) {
                work->length_ns /= 2;
                work->alone_ns /= 2;
        }
        return took_ns;
}

static void measured(struct lane *lane, const struct marker *marker, const struct stamp *to)
{
        struct work *work = load_relaxed(&lane->work);
        bool is_sure;
        uint64_t length_ns = judged(lane, marker, to, &is_sure);
        bool is_one_of_many = is_sure && !marker->is_compound && !marker->own_ns &&
                              marker->pieces && (!marker->what || length_ns <= COST_LONG_NS);
        bool is_beside =
                admit_is_shared(&work->admit, (uint64_t)to->at_ns - length_ns, clock_now_ns());
        uint64_t took_ns;

        if (marker->what && is_sure)
                cost_learn(marker->what, marker->age, length_ns, is_beside);
        lock_take(&work->lock);
        took_ns = cover(work, to->at_ns - (int64_t)length_ns, to->at_ns);
        if (is_one_of_many) {
                estimate_learn(&lane->piece, length_ns / marker->pieces, is_beside);
                estimate_learn(&work->piece, length_ns / marker->pieces, is_beside);
        }
        lock_drop(&work->lock);
        admit_settle(&work->admit, marker->paid_ns, took_ns, marker->pieces, clock_now_ns());
        if (marker->burst)
                lane_sum_up(lane, marker->burst,
                            took_ns > marker->own_ns ? took_ns - marker->own_ns : 0,
                            is_sure && !is_beside);
        if (marker->is_of_burst && !is_sure)
                lane->wary = WARY_BURSTS;
        if (marker->is_drawn && is_sure)
                lane_note_longest(lane, length_ns);
        /* What others may have lengthened tells nothing: the next one does. What cannot be believed
           is the average here as anywhere, or unbelievable stamps would leave all to be paid late.
         */
        if (marker->is_drawn && !is_beside)
                lane_settle_unmeasured(lane, is_sure ? took_ns : marker->paid_ns);
}

/* The host may be held up after the launch: what the quickest of late took. */
uint64_t lane_lead_ns(struct lane *lane)
{
        struct work *work = load_relaxed(&lane->work);
        uint64_t now_ns = clock_now_ns();
        uint64_t took_ns;

        if (!lane_is_pending(lane))
                return 0;
        took_ns = now_ns - lane->marker[lane_newest(lane)].placed_ns;
        lock_take(&work->lock);
        work->launch_ns += work->launch_ns / 16 + 1;
        if (took_ns < work->launch_ns || work->launch_ns == 1)
                work->launch_ns = took_ns;
        took_ns = work->launch_ns;
        lock_drop(&work->lock);
        return took_ns;
}

void lane_note_oldest(struct lane *lane)
{
        bool is_blocked = lane_is_pending(lane) && lane->marker[lane->first].is_behind;

        if (is_blocked != (load_relaxed(&lane->blocked_at_ns) != 0))
                store_relaxed(&lane->blocked_at_ns, is_blocked ? clock_now_ns() : 0);
}

/* The oldest marker is waited for no more. */
static void take_off(struct lane *lane)
{
        const struct marker *marker = &lane->marker[lane->first];
        struct work *work = load_relaxed(&lane->work);

        if (marker->what)
                cost_end(marker->what, marker->age);
        add_relaxed(&work->in_flight_ns, -marker->paid_ns);
        add_relaxed(&lane->in_flight_ns, -marker->paid_ns);
        add_relaxed(&work->motion.settled, 1);
        add_relaxed(&lane->motion.settled, 1);
        lane->first = (lane->first + 1) % LANE_MARKERS;
        lane->unmoved = 0;
        /* Only who holds the lane changes it. */
        store_relaxed(&lane->count, load_relaxed(&lane->count) - 1);
        if (load_relaxed(&lane->count) < lane->behind)
                lane->behind = 0;
        lane_note_oldest(lane);
}

/* From it and its twin. */
static void learn_marker(struct lane *lane, const struct marker *twin, const struct stamp *stamp)
{
        struct work *work = load_relaxed(&lane->work);
        int64_t apart_ns = stamp->at_ns - load_relaxed(&lane->last_ns);

        if (twin->unseen_ns || lane->is_last_moved || stamp->is_moved || apart_ns < 0 ||
            apart_ns > LANE_MARKER_NS)
                return;
        lock_take(&work->lock);
        estimate_add(&work->marker, (uint64_t)apart_ns);
        lock_drop(&work->lock);
}

/* The oldest marker was passed then. */
static void passed(struct lane *lane, const struct stamp *stamp)
{
        struct work *work = load_relaxed(&lane->work);
        const struct marker *marker = &lane->marker[lane->first];

        if (marker->is_twin && lane->has_last)
                learn_marker(lane, marker, stamp);
        else if (marker->is_end && lane->has_last)
                measured(lane, marker, stamp);
        else if (marker->is_end)
                admit_settle(&work->admit, marker->paid_ns, marker->paid_ns, marker->pieces,
                             clock_now_ns());
        if (marker->last_of)
                lane_tell_of_bursts(lane, marker->last_of);
        if (marker->last_of && lane->wary)
                lane->wary--;
        store_relaxed(&lane->last_ns, stamp->at_ns);
        lane->is_last_moved = stamp->is_moved;
        lane->has_last = true;
        take_off(lane);
        lock_take(&work->lock);
        if (work->latest_ns < stamp->at_ns)
                work->latest_ns = stamp->at_ns;
        spans_forget(&work->spans, watermark(work, work->latest_ns));
        lock_drop(&work->lock);
}

static void begin_untimed(struct lane *lane, uint64_t now_ns)
{
        lane->began_ns = lane->working_ns = now_ns;
        lane->gated_ns = load_relaxed(&load_relaxed(&lane->work)->gated_ns);
}

/* The driver does not tell times any more (the device is lost, say): what was paid is what it took,
 * and what was launched since the last marker is told by the host's clock. */
void lane_give_up(struct lane *lane)
{
        struct work *work = load_relaxed(&lane->work);
        uint64_t now_ns = clock_now_ns();

        lane->timeline = NULL;
        lane->retime_ns = now_ns + RETIME_NS;
        begin_untimed(lane, now_ns);
        lane->is_behind = true;
        lane->has_last = false;
        while (lane_is_pending(lane)) {
                const struct marker *marker = &lane->marker[lane->first];

                if (marker->is_end)
                        admit_settle(&work->admit, marker->paid_ns, marker->paid_ns, marker->pieces,
                                     now_ns);
                take_off(lane);
        }
        lane->first = 0;
}

/* The driver told what is no time: what it told before is not to be built on. */
static void disbelieve(struct lane *lane)
{
        struct work *work = load_relaxed(&lane->work);

        lane_give_up(lane);
        lock_take(&work->lock);
        lane->piece = work->piece = (struct estimate){ 0 };
        lock_drop(&work->lock);
}

static CUresult read_oldest(struct lane *lane, uint64_t now_ns, struct stamp *ret)
{
        const struct marker *marker = &lane->marker[lane->first];
        struct reading reading = { .context = lane_context(lane),
                                   .event = lane->event[lane->first],
                                   .asked_ns = marker->asked_ns };
        CUresult rc = real.cuEventQuery(reading.event);

        if (rc == CUDA_ERROR_NOT_READY)
                lane->busy_ns = lane->unpassed_ns = now_ns;
        if (rc != CUDA_SUCCESS)
                return rc;
        rc = timeline_read(lane->timeline, &reading, ret);
        if (rc == CUDA_SUCCESS)
                ret->is_early = ret->at_ns + EARLY_NS < (int64_t)lane->unpassed_ns;
        /* Then it is the anchor that is to come. */
        return rc == CUDA_ERROR_NOT_READY && now_ns - marker->placed_ns > RETIME_NS
                       ? CUDA_ERROR_UNKNOWN
                       : rc;
}

void lane_reap(struct lane *lane)
{
        struct stamp stamp;

        while (!lane_is_gone(lane) && lane_is_pending(lane) && lane->timeline) {
                uint64_t now_ns = clock_now_ns();
                CUresult rc = read_oldest(lane, now_ns, &stamp);

                if (rc == CUDA_ERROR_NOT_READY)
                        break;
                if (rc == CUDA_SUCCESS)
                        passed(lane, &stamp);
                else if (!lane_is_gone(lane))
                        disbelieve(lane);
        }
        if (lane_is_gone(lane))
                lane_bury(lane);
}

/* -- Without events --------------------------------------------------------------------------- */

void lane_begin_untimed(struct lane *lane)
{
        if (!load_relaxed(&lane->since))
                begin_untimed(lane, clock_now_ns());
}

/* Under the work's lock. */
static uint64_t untimed_ns(const struct lane *lane, uint32_t pieces, uint64_t now_ns)
{
        uint64_t gated_ns = load_relaxed(&load_relaxed(&lane->work)->gated_ns) - lane->gated_ns;
        uint64_t least_ns = lane->working_ns - lane->began_ns;
        uint64_t most_ns = now_ns - lane->began_ns;
        uint64_t mean_ns = lane->piece.mean_ns * pieces;
        uint64_t took_ns = most_ns - (gated_ns < most_ns ? gated_ns : most_ns);

        if (took_ns < mean_ns)
                took_ns = mean_ns < most_ns ? mean_ns : most_ns;
        if (lane->piece.samples && took_ns > 2 * mean_ns + UNKNOWN_NS)
                took_ns = 2 * mean_ns + UNKNOWN_NS;
        return took_ns > least_ns ? took_ns : least_ns;
}

static void settle_untimed(struct lane *lane, uint64_t now_ns)
{
        struct launched since = lane_take_since(lane);
        struct work *work = load_relaxed(&lane->work);
        uint64_t took_ns;

        if (!since.pieces)
                return;
        lock_take(&work->lock);
        took_ns = untimed_ns(lane, since.pieces, now_ns);
        if (!lane->is_behind)
                estimate_add(&lane->piece, took_ns / since.pieces);
        lane->is_behind = false;
        took_ns = cover(work, (int64_t)lane->began_ns, (int64_t)(lane->began_ns + took_ns));
        lock_drop(&work->lock);
        admit_settle(&work->admit, since.paid_ns, took_ns, since.pieces, now_ns);
        add_relaxed(&work->motion.settled, 1);
}

void lane_look_untimed(struct lane *lane, bool is_idle)
{
        CUcontext context;
        uint64_t now_ns;

        if (lane->timeline)
                return;
        now_ns = clock_now_ns();
        if (!is_idle) {
                lane->working_ns = now_ns;
                return;
        }
        settle_untimed(lane, now_ns);
        context = lane_context(lane);
        if (now_ns >= lane->retime_ns && context) {
                lane->timeline = timeline_of(context);
                lane->retime_ns = now_ns + RETIME_NS;
        }
}
