/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lane.h: markers, and what the work between them took.
 */
#include <stddef.h>

#include "common/clock.h"
#include "shim/cost.h"
#include "shim/cuda/front.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"
#include "shim/cuda/timeline.h"

/* Of a launch, and of a graph in launches, before any was measured. */
#define UNKNOWN_NS UINT64_C(50000)
#define UNKNOWN_GRAPH_PIECES 16u
/* How far back "of late" goes. */
#define LATE_NS UINT64_C(100000000)

/* -- What work took --------------------------------------------------------------------------- */

/* Of launches one after the other, whichever they are; under the work's lock. */
static struct expected expect_any(const struct lane *lane)
{
        const struct estimate *piece = lane->piece.samples ? &lane->piece : &lane->work->piece;
        struct expected expected = { .estimate = *piece, .is_unknown = !lane->piece.samples };

        if (!piece->samples)
                expected.estimate.mean_ns = UNKNOWN_NS;
        return expected;
}

/* Without events nothing is learned of one. */
static struct expected expect_one(struct lane *lane, uint64_t what, bool is_graph)
{
        struct expected expected = expect_any(lane);
        struct cost cost = { 0 };

        if (what && lane->timeline)
                cost = cost_of(what);
        if (!what || (!lane->timeline && !is_graph))
                return expected;
        expected.is_unknown = !cost.estimate.samples;
        expected.is_own = is_graph || expected.is_unknown || cost_is_long(&cost);
        expected.is_pending = cost.pending > 0;
        if (!expected.is_unknown && (expected.is_own || !lane->piece.samples))
                expected.estimate = cost.estimate;
        else if (expected.is_unknown && is_graph)
                expected.estimate.mean_ns *= UNKNOWN_GRAPH_PIECES;
        return expected;
}

struct expected lane_expect(struct lane *lane, uint64_t what, bool is_graph)
{
        struct work *work = lane->work;
        struct expected expected;

        lock_take(&work->lock);
        expected = expect_one(lane, what, is_graph);
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
        uint32_t unknown = 0;

        for (uint32_t i = 0; i < lane->count; i++)
                unknown += lane->marker[(lane->first + i) % LANE_MARKERS].is_unknown;
        return unknown;
}

void lane_settle_since(struct lane *lane)
{
        uint32_t pieces = swap_acq_rel(&lane->since, 0);
        uint64_t paid_ns = swap_acq_rel(&lane->since_ns, 0);

        if (pieces)
                admit_settle(&lane->work->admit, paid_ns,
                             pieces * lane_expect(lane, 0, false).estimate.mean_ns, pieces,
                             clock_now_ns());
}

void lane_settle_untimed(struct lane *lane)
{
        uint32_t pieces = swap_acq_rel(&lane->since, 0);
        uint64_t paid_ns = swap_acq_rel(&lane->since_ns, 0);
        uint64_t now_ns = clock_now_ns();
        uint64_t took_ns = now_ns - lane->began_ns;

        if (!pieces)
                return;
        lock_take(&lane->work->lock);
        if (lane->piece.samples && took_ns > 2 * lane->piece.mean_ns * pieces)
                took_ns = 2 * lane->piece.mean_ns * pieces;
        estimate_add(&lane->piece, took_ns / pieces);
        lock_drop(&lane->work->lock);
        admit_settle(&lane->work->admit, paid_ns, took_ns, pieces, now_ns);
        add_relaxed(&lane->work->settled, 1);
}

/* No lane will tell of anything before this. Under the work's lock. */
static int64_t watermark(const struct work *work, int64_t at_ns)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                const struct lane *lane = &lanes.lane[i];
                int64_t last_ns = load_relaxed(&lane->last_ns);

                if (lane->work == work && lane->count && last_ns < at_ns)
                        at_ns = last_ns;
        }
        return at_ns;
}

static void measured(struct lane *lane, const struct marker *marker, int64_t from_ns, int64_t to_ns)
{
        struct work *work = lane->work;
        uint64_t length_ns = to_ns > from_ns ? (uint64_t)(to_ns - from_ns) : 0;
        bool is_one_of_many =
                !marker->is_graph && marker->pieces && (!marker->what || length_ns <= COST_LONG_NS);
        uint64_t took_ns;

        if (marker->what)
                cost_learn(marker->what, marker->age, length_ns);
        lock_take(&work->lock);
        took_ns = spans_add(&work->spans, from_ns, to_ns);
        work->length_ns += length_ns;
        work->alone_ns += took_ns;
        if (work->length_ns > LATE_NS) {
                work->length_ns /= 2;
                work->alone_ns /= 2;
        }
        if (is_one_of_many) {
                estimate_add(&lane->piece, length_ns / marker->pieces);
                estimate_add(&work->piece, length_ns / marker->pieces);
        }
        lock_drop(&work->lock);
        admit_settle(&work->admit, marker->paid_ns, took_ns, marker->pieces, clock_now_ns());
}

/* The host may be held up after the launch: what the quickest of late took. */
uint64_t lane_lead_ns(struct lane *lane)
{
        uint32_t newest = (lane->first + lane->count - 1) % LANE_MARKERS;
        struct work *work = lane->work;
        uint64_t now_ns = clock_now_ns();
        uint64_t took_ns;

        if (!lane->count)
                return 0;
        took_ns = now_ns - lane->marker[newest].placed_ns;
        lock_take(&work->lock);
        work->launch_ns += work->launch_ns / 16 + 1;
        if (took_ns < work->launch_ns || work->launch_ns == 1)
                work->launch_ns = took_ns;
        took_ns = work->launch_ns;
        lock_drop(&work->lock);
        return took_ns;
}

/* The oldest marker is waited for no more. */
static void take_off(struct lane *lane)
{
        const struct marker *marker = &lane->marker[lane->first];

        if (marker->what)
                cost_end(marker->what, marker->age);
        add_relaxed(&lane->work->in_flight_ns, -marker->paid_ns);
        add_relaxed(&lane->work->settled, 1);
        lane->first = (lane->first + 1) % LANE_MARKERS;
        lane->count--;
}

/* The oldest marker was passed at `at_ns` of the timeline. */
static void passed(struct lane *lane, int64_t at_ns)
{
        struct work *work = lane->work;
        const struct marker *marker = &lane->marker[lane->first];

        if (marker->is_end && lane->has_last)
                measured(lane, marker, load_relaxed(&lane->last_ns) + (int64_t)marker->lead_ns,
                         at_ns);
        else if (marker->is_end)
                admit_settle(&work->admit, marker->paid_ns, marker->paid_ns, marker->pieces,
                             clock_now_ns());
        store_relaxed(&lane->last_ns, at_ns);
        lane->has_last = true;
        take_off(lane);
        lock_take(&work->lock);
        if (work->latest_ns < at_ns)
                work->latest_ns = at_ns;
        spans_forget(&work->spans, watermark(work, work->latest_ns));
        lock_drop(&work->lock);
}

/* The driver does not tell times any more (the device is lost, say): what was paid is what it
 * took. */
void lane_give_up(struct lane *lane)
{
        lane->timeline = NULL;
        while (lane->count) {
                const struct marker *marker = &lane->marker[lane->first];

                if (marker->is_end)
                        admit_settle(&lane->work->admit, marker->paid_ns, marker->paid_ns,
                                     marker->pieces, clock_now_ns());
                take_off(lane);
        }
}

void lane_reap(struct lane *lane)
{
        int64_t at_ns;

        while (lane->count && lane->timeline) {
                CUevent event = lane->event[lane->first];
                CUresult rc = real.cuEventQuery(event);

                if (rc == CUDA_SUCCESS)
                        rc = timeline_read(lane->timeline, event, &at_ns);
                if (rc == CUDA_ERROR_NOT_READY)
                        return;
                if (rc == CUDA_SUCCESS)
                        passed(lane, at_ns);
                else
                        lane_give_up(lane);
        }
}

/* -- Markers ---------------------------------------------------------------------------------- */

uint64_t lane_oldest_ns(const struct lane *lane)
{
        return lane->count ? lane->marker[lane->first].placed_ns : 0;
}

/* The event of the next marker; NULL: there is none. */
static CUevent marker_event(struct lane *lane)
{
        uint32_t next = (lane->first + lane->count) % LANE_MARKERS;
        CUcontext popped;

        if (!lane->timeline || lane->count == LANE_MARKERS)
                return NULL;
        if (lane->event[next])
                return lane->event[next];
        if (real.cuCtxPushCurrent_v2((CUcontext)(uintptr_t)load_relaxed(&lane->context)) !=
            CUDA_SUCCESS)
                return NULL;
        if (real.cuEventCreate(&lane->event[next], CU_EVENT_DEFAULT) != CUDA_SUCCESS)
                lane->event[next] = NULL;
        real.cuCtxPopCurrent_v2(&popped);
        return lane->event[next];
}

bool lane_mark(struct lane *lane, const struct marker *end)
{
        CUevent event = marker_event(lane);
        struct marker *marker;

        if (!event || real.cuEventRecord(event, lane->stream) != CUDA_SUCCESS)
                return false;
        marker = &lane->marker[(lane->first + lane->count) % LANE_MARKERS];
        *marker = end ? *end : (struct marker){ 0 };
        marker->is_end = end != NULL;
        marker->placed_ns = clock_now_ns();
        if (!lane->count) {
                lock_take(&lane->work->lock);
                if (load_relaxed(&lane->last_ns) < lane->work->latest_ns && !end)
                        store_relaxed(&lane->last_ns, lane->work->latest_ns);
                lock_drop(&lane->work->lock);
        }
        lane->count++;
        if (marker->what)
                marker->age = cost_begin(marker->what);
        add_relaxed(&lane->work->in_flight_ns, marker->paid_ns);
        return true;
}
