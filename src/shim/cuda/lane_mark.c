/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lane.h: markers, and when they are placed.
 */
#include <stddef.h>

#include "common/clock.h"
#include "shim/cost.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"

/* The host is away between two lines of ours no longer than this if nothing holds it up. */
#define AWAY_NS UINT64_C(100000)
/* Of so many markers one has a twin, by which what they take is learned; and at first. */
#define MARKER_TWINS 64u
#define MARKER_TWINS_FIRST 8u

uint64_t lane_oldest_ns(const struct lane *lane)
{
        return lane_is_pending(lane) ? lane->marker[lane->first].placed_ns : 0;
}

/* The event of the next marker; NULL: there is none. */
static CUevent marker_event(struct lane *lane)
{
        uint32_t next = (lane_newest(lane) + 1) % LANE_MARKERS;
        CUcontext context = lane_context(lane), popped;

        if (lane->event[next])
                return lane->event[next];
        if (!context || real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
                return NULL;
        if (real.cuEventCreate(&lane->event[next], CU_EVENT_DEFAULT) != CUDA_SUCCESS)
                lane->event[next] = NULL;
        real.cuCtxPopCurrent_v2(&popped);
        return lane->event[next];
}

/* The host was away since it last knew that the stream works: unless the newest marker is to come
 * even now, it may have been idle meanwhile. */
static uint64_t unseen_ns(const struct lane *lane, uint64_t now_ns)
{
        uint64_t away_ns = now_ns - lane->busy_ns;

        return away_ns < AWAY_NS || real.cuEventQuery(lane->event[lane_newest(lane)]) ==
                                            CUDA_ERROR_NOT_READY
                       ? 0
                       : away_ns;
}

/* Nothing is to come, so the stream may have been idle from the last marker on. */
static uint64_t since_last_ns(const struct lane *lane, uint64_t now_ns)
{
        int64_t last_ns = load_relaxed(&lane->last_ns);

        return (int64_t)now_ns > last_ns ? now_ns - (uint64_t)last_ns : 0;
}

/* For so long the stream may have been idle, or waited, since the marker before. */
static uint64_t unseen_before(const struct lane *lane, uint64_t now_ns)
{
        /* Another thread put something in between just now. */
        if (load_acquire(&lane->broken) != LANE_WHOLE)
                return UINT64_MAX;
        return lane_is_pending(lane) ? unseen_ns(lane, now_ns) : since_last_ns(lane, now_ns);
}

/* It was recorded. */
static void put_marker(struct lane *lane, const struct marker *end, uint64_t asked_ns)
{
        struct work *work = load_relaxed(&lane->work);
        struct marker *marker = &lane->marker[(lane_newest(lane) + 1) % LANE_MARKERS];

        *marker = end ? *end : (struct marker){ 0 };
        marker->is_end = end != NULL;
        marker->is_of_burst = end && lane->is_measuring && !end->what && !end->is_compound;
        marker->burst = marker->is_of_burst && lane->is_picked ? lane->burst : 0;
        marker->is_behind = !end && swap_acq_rel(&lane->broken, LANE_WHOLE) == LANE_WAITS;
        marker->asked_ns = asked_ns;
        marker->placed_ns = clock_now_ns();
        if (end)
                marker->unseen_ns = unseen_before(lane, marker->placed_ns);
        if (!end && !lane_is_pending(lane)) {
                lock_take(&work->lock);
                if (load_relaxed(&lane->last_ns) < work->latest_ns)
                        store_relaxed(&lane->last_ns, work->latest_ns);
                lock_drop(&work->lock);
        }
        lane->busy_ns = marker->placed_ns;
        lane->has_left = false;
        lane->unmoved++;
        if (marker->is_behind || marker->is_unknown)
                lane->behind = 1;
        else if (lane->behind)
                lane->behind++;
        store_relaxed(&lane->count, load_relaxed(&lane->count) + 1);
        if (marker->what)
                marker->age = cost_begin(marker->what);
        add_relaxed(&work->in_flight_ns, marker->paid_ns);
        add_relaxed(&lane->in_flight_ns, marker->paid_ns);
        lane_note_oldest(lane);
}

static bool mark(struct lane *lane, const struct marker *end)
{
        uint64_t asked_ns = clock_now_ns();
        CUevent event;

        if (!lane->timeline || lane_is_gone(lane) || !lane_places(lane))
                return false;
        event = marker_event(lane);
        if (event && real.cuEventRecord(event, lane->stream) == CUDA_SUCCESS) {
                put_marker(lane, end, asked_ns);
                return true;
        }
        /* Those that there are may be enough. */
        if (event || !lane_is_pending(lane))
                lane_give_up(lane);
        return false;
}

static bool is_twin_due(struct lane *lane)
{
        uint32_t nth = add_relaxed(&load_relaxed(&lane->work)->ends, 1);
        uint32_t every = nth < MARKER_TWINS ? MARKER_TWINS_FIRST : MARKER_TWINS;

        return nth % every == 0 && lane_has_room(lane);
}

/* One more behind the newest marker: if that is still to come now, the stream goes from the one to
 * the other at once. */
static void mark_twin(struct lane *lane)
{
        struct marker twin = { .is_twin = true };
        CUevent first = lane->event[lane_newest(lane)];

        if (mark(lane, &twin) && real.cuEventQuery(first) != CUDA_ERROR_NOT_READY)
                lane->marker[lane_newest(lane)].unseen_ns = LANE_MARKER_NS;
}

bool lane_mark(struct lane *lane, const struct marker *end)
{
        bool is_placed = mark(lane, end);

        if (is_placed && end && is_twin_due(lane))
                mark_twin(lane);
        return is_placed;
}

void lane_mark_last(struct lane *lane, bool is_telling)
{
        bool is_known = lane_is_pending(lane) || lane->has_last;

        if (!is_known || !lane_mark_since(lane) || !is_telling)
                return;
        if (lane_is_pending(lane))
                lane->marker[lane_newest(lane)].last_of = lane->burst;
        else
                lane_tell_of_bursts(lane, lane->burst);
}

struct launched lane_take_since(struct lane *lane)
{
        struct launched launched = { .own = swap_acq_rel(&lane->own_since, 0),
                                     .own_ns = swap_acq_rel(&lane->own_since_ns, 0),
                                     .paid_ns = swap_acq_rel(&lane->since_ns, 0),
                                     .pieces = swap_acq_rel(&lane->since, 0) };

        /* Another thread may be half-way through counting one. */
        if (launched.own > launched.pieces)
                launched.own = launched.pieces;
        if (launched.own_ns > launched.paid_ns)
                launched.own_ns = launched.paid_ns;
        return launched;
}

bool lane_mark_since(struct lane *lane)
{
        struct launched since;
        struct marker end = { 0 };

        if (!lane_is_whole(lane))
                return false;
        since = lane_take_since(lane);
        end.pieces = since.pieces;
        end.paid_ns = since.paid_ns;
        end.own_ns = since.own_ns;
        if (!end.pieces || lane_mark(lane, &end))
                return true;
        lane_count(lane, &since);
        return false;
}
