/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lane.h.
 */
#include "shim/cuda/lane.h"

#include <stddef.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "shim/attach.h"
#include "shim/cuda/front.h"
#include "shim/cuda/real.h"
#include "shim/cuda/timeline.h"

#define PAGE_BYTES 4096u
#define GRAPHS 256u
/* Of a launch, and of a graph in launches, before any was measured. */
#define UNKNOWN_NS UINT64_C(50000)
#define UNKNOWN_GRAPH_PIECES 16u
/* A pause so long is one, and what is late is looked at so often. */
#define GRACE_NS UINT64_C(200000)
#define TEND_NS UINT64_C(1000000)
/* How far back "of late" goes. */
#define LATE_NS UINT64_C(100000000)
/* Who holds a lane of a context that is being destroyed is waited for so long. */
#define FORGET_LOOKS 1000u
#define FORGET_LOOK_NS 100000

struct graph_cost {
        _Atomic uint64_t graph;
        struct lock lock;
        struct estimate cost;
};

struct lanes {
        _Atomic uint32_t is_wiped_at_fork;
        struct lock lock; /* for adding and removing lanes */
        _Atomic uint32_t high;
        struct lane lane[LANES];
        struct work work[PAGE_DEVICES];
        struct graph_cost graph[GRAPHS];
};

/* Whole pages of its own, so that the kernel can wipe them in a child. */
static union {
        struct lanes parts;
        unsigned char pages[(sizeof(struct lanes) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES];
} store __attribute__((aligned(PAGE_BYTES)));

extern struct lanes lanes __attribute__((alias("store")));

/* -- The device ------------------------------------------------------------------------------- */

static void work_fill(struct work *work, int row)
{
        struct process *process = process_attached();
        struct slots_page *slots = session_slots();

        work->admit = (struct admit){
                .limits = session_limits(),
                .device = &session_limits()->device[row],
                .slots = slots,
                .meter = &slots->meter[row],
                .slot = process ? load_acquire(&process->slot_plus_one) - 1 : PAGE_SLOTS,
        };
        store_release(&work->is_ready, 1);
}

struct work *work_of(int row)
{
        struct work *work;

        if (row < 0 || row >= (int)PAGE_DEVICES || !session_limits())
                return NULL;
        if (!load_relaxed(&lanes.is_wiped_at_fork)) {
                madvise(&store, sizeof(store), MADV_WIPEONFORK);
                store_relaxed(&lanes.is_wiped_at_fork, 1);
        }
        work = &lanes.work[row];
        if (load_acquire(&work->is_ready))
                return work;
        lock_take(&work->lock);
        if (!load_acquire(&work->is_ready))
                work_fill(work, row);
        lock_drop(&work->lock);
        return work;
}

/* -- Lanes ------------------------------------------------------------------------------------ */

bool lane_try(struct lane *lane)
{
        uint32_t expected = 0;

        return cas_acq_rel(&lane->is_held, &expected, 1);
}

void lane_drop(struct lane *lane)
{
        store_release(&lane->is_held, 0);
}

static struct lane *lane_look(uint64_t context, uint64_t key)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];

                if (load_acquire(&lane->context) == context && load_acquire(&lane->key) == key)
                        return lane;
        }
        return NULL;
}

/* Under lanes.lock: a lane that was never used or was left, else the one that was not used for
 * longest and has no marker to come. It is held on return. */
static struct lane *lane_room(void)
{
        uint32_t high = load_relaxed(&lanes.high);
        struct lane *best = NULL;

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];

                if (best && load_relaxed(&best->used_at_ns) <= load_relaxed(&lane->used_at_ns) &&
                    load_relaxed(&lane->context))
                        continue;
                if (!lane_try(lane))
                        continue;
                if (lane->count) {
                        lane_drop(lane);
                        continue;
                }
                if (best)
                        lane_drop(best);
                best = lane;
                if (!load_relaxed(&lane->context))
                        return best;
        }
        if (high < LANES && lane_try(&lanes.lane[high])) {
                if (best)
                        lane_drop(best);
                store_release(&lanes.high, high + 1);
                return &lanes.lane[high];
        }
        return best;
}

/* The lane is held: what its last stream has left goes. */
static void lane_empty(struct lane *lane)
{
        store_release(&lane->context, 0);
        for (uint32_t i = 0; i < LANE_MARKERS; i++) {
                if (lane->event[i])
                        real.cuEventDestroy_v2(lane->event[i]);
                lane->event[i] = NULL;
        }
        lane->first = 0;
        lane->count = 0;
        lane->has_last = false;
        lane->piece = (struct estimate){ 0 };
        store_relaxed(&lane->since, 0);
        store_relaxed(&lane->since_ns, 0);
}

static struct lane *lane_make(CUcontext context, CUstream stream, struct work *work)
{
        struct lane *lane = lane_room();

        if (!lane)
                return NULL;
        if (load_relaxed(&lane->context)) {
                lane_settle_since(lane);
                lane_empty(lane);
        }
        lane->stream = stream;
        lane->work = work;
        lane->timeline = timeline_of(context);
        store_relaxed(&lane->used_at_ns, clock_now_ns());
        store_relaxed(&lane->key, stream_key(stream));
        store_release(&lane->context, key_of(context));
        lane_drop(lane);
        return lane;
}

struct lane *lane_find(CUcontext context, CUstream stream, struct work *work)
{
        struct lane *lane = lane_look(key_of(context), stream_key(stream));

        if (lane)
                return lane;
        lock_take(&lanes.lock);
        lane = lane_look(key_of(context), stream_key(stream));
        if (!lane)
                lane = lane_make(context, stream, work);
        lock_drop(&lanes.lock);
        return lane;
}

/* -- What work took --------------------------------------------------------------------------- */

static struct graph_cost *graph_cost(uint64_t graph)
{
        return &lanes.graph[(graph * UINT64_C(0x9e3779b97f4a7c15)) >> 56 & (GRAPHS - 1)];
}

static void graph_learn(uint64_t graph, uint64_t sample_ns)
{
        struct graph_cost *cost = graph_cost(graph);

        lock_take(&cost->lock);
        if (load_relaxed(&cost->graph) != graph)
                cost->cost = (struct estimate){ 0 };
        store_relaxed(&cost->graph, graph);
        estimate_add(&cost->cost, sample_ns);
        lock_drop(&cost->lock);
}

static struct estimate graph_expect(uint64_t graph)
{
        struct graph_cost *cost = graph_cost(graph);
        struct estimate estimate = { 0 };

        lock_take(&cost->lock);
        if (load_relaxed(&cost->graph) == graph)
                estimate = cost->cost;
        lock_drop(&cost->lock);
        return estimate;
}

struct estimate lane_expect(struct lane *lane, uint64_t graph)
{
        struct work *work = lane->work;
        struct estimate estimate = graph ? graph_expect(graph) : lane->piece;
        uint64_t pieces = graph ? UNKNOWN_GRAPH_PIECES : 1;

        lock_take(&work->lock);
        if (!estimate.samples) {
                estimate = work->piece;
                estimate.mean_ns =
                        (work->piece.samples ? work->piece.mean_ns : UNKNOWN_NS) * pieces;
                estimate.samples = 0;
        }
        if (work->length_ns)
                estimate.mean_ns = (uint64_t)((double)estimate.mean_ns * (double)work->alone_ns /
                                              (double)work->length_ns);
        lock_drop(&work->lock);
        return estimate;
}

void lane_settle_since(struct lane *lane)
{
        uint32_t pieces = swap_acq_rel(&lane->since, 0);
        uint64_t paid_ns = swap_acq_rel(&lane->since_ns, 0);

        if (pieces)
                admit_settle(&lane->work->admit, paid_ns, pieces * lane_expect(lane, 0).mean_ns,
                             pieces, clock_now_ns());
}

void lane_settle_untimed(struct lane *lane)
{
        uint32_t pieces = swap_acq_rel(&lane->since, 0);
        uint64_t paid_ns = swap_acq_rel(&lane->since_ns, 0);
        uint64_t now_ns = clock_now_ns();
        uint64_t took_ns = now_ns - lane->began_ns;

        if (!pieces)
                return;
        if (lane->piece.samples && took_ns > 2 * lane->piece.mean_ns * pieces)
                took_ns = 2 * lane->piece.mean_ns * pieces;
        estimate_add(&lane->piece, took_ns / pieces);
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
        uint64_t took_ns;

        if (marker->graph)
                graph_learn(marker->graph, length_ns);
        else if (marker->pieces)
                estimate_add(&lane->piece, length_ns / marker->pieces);
        lock_take(&work->lock);
        took_ns = spans_add(&work->spans, from_ns, to_ns);
        work->length_ns += length_ns;
        work->alone_ns += took_ns;
        if (work->length_ns > LATE_NS) {
                work->length_ns /= 2;
                work->alone_ns /= 2;
        }
        if (!marker->graph && marker->pieces)
                estimate_add(&work->piece, length_ns / marker->pieces);
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
        add_relaxed(&work->in_flight_ns, -marker->paid_ns);
        add_relaxed(&work->settled, 1);
        store_relaxed(&lane->last_ns, at_ns);
        lane->has_last = true;
        lane->first = (lane->first + 1) % LANE_MARKERS;
        lane->count--;
        lock_take(&work->lock);
        if (work->latest_ns < at_ns)
                work->latest_ns = at_ns;
        spans_forget(&work->spans, watermark(work, work->latest_ns));
        lock_drop(&work->lock);
}

/* The driver does not tell times any more (the device is lost, say): what was paid is what it
 * took. */
static void lane_give_up(struct lane *lane)
{
        lane->timeline = NULL;
        for (; lane->count; lane->count--) {
                const struct marker *marker = &lane->marker[lane->first];

                if (marker->is_end)
                        admit_settle(&lane->work->admit, marker->paid_ns, marker->paid_ns,
                                     marker->pieces, clock_now_ns());
                add_relaxed(&lane->work->in_flight_ns, -marker->paid_ns);
                add_relaxed(&lane->work->settled, 1);
                lane->first = (lane->first + 1) % LANE_MARKERS;
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

void lanes_reap(struct work *work)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];

                if (!load_acquire(&lane->context) || lane->work != work || !lane_try(lane))
                        continue;
                if (load_acquire(&lane->context))
                        lane_reap(lane);
                lane_drop(lane);
        }
}

bool lanes_are_done(const struct work *work)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                if (lanes.lane[i].work == work &&
                    (lanes.lane[i].count || load_relaxed(&lanes.lane[i].since)))
                        return false;
        }
        return true;
}

/* -- What the helper does --------------------------------------------------------------------- */

static bool has_markers(const struct work *work)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                if (lanes.lane[i].work == work && lanes.lane[i].count)
                        return true;
        }
        return false;
}

/* The program launched nothing since: what it launched unmarked is charged at the average. */
static void settle_tails(struct work *work)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];

                if (lane->work != work || !load_relaxed(&lane->since) || !lane_try(lane))
                        continue;
                if (load_acquire(&lane->context) && !lane->count && lane->timeline)
                        lane_settle_since(lane);
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
        add_relaxed(&lane->work->in_flight_ns, marker->paid_ns);
        return true;
}

void lanes_forget(CUcontext context)
{
        uint32_t high = context ? load_acquire(&lanes.high) : 0;

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];

                if (load_acquire(&lane->context) != key_of(context))
                        continue;
                for (unsigned look = 0; look < FORGET_LOOKS && !lane_try(lane); look++)
                        clock_sleep_ns(FORGET_LOOK_NS);
                lane_reap(lane);
                lane_give_up(lane);
                lane_settle_since(lane);
                lane_empty(lane);
                store_relaxed(&lane->used_at_ns, 0);
                lane_drop(lane);
        }
        timeline_forget(context);
}
