/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lane.h: the devices, and which lane is whose.
 */
#include "shim/cuda/lane.h"

#include <stddef.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "shim/attach.h"
#include "shim/cuda/front.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"
#include "shim/cuda/timeline.h"

#define PAGE_BYTES 4096u
/* All lanes have markers to come: a new one waits. */
#define LANE_LOOKS 1000u
#define LANE_LOOK_NS 1000000
/* Who holds a lane of a context that is being destroyed is waited for so long; then it is that
 * one's to bury. */
#define FORGET_LOOKS 1000u
#define FORGET_LOOK_NS 100000

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

bool lane_is_of(struct lane *lane, CUcontext context, CUstream stream)
{
        return load_acquire(&lane->context) == key_of(context) &&
               load_acquire(&lane->key) == stream_key(stream);
}

bool lane_try_of(struct lane *lane, CUcontext context, CUstream stream)
{
        if (!lane_try(lane))
                return false;
        if (lane_is_of(lane, context, stream))
                return true;
        lane_drop(lane);
        return false;
}

static struct lane *look(uint64_t context, uint64_t key)
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
                if (lane_is_gone(lane))
                        lane_bury(lane);
                if (lane_is_pending(lane)) {
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
        struct work *work = load_relaxed(&lane->work);

        store_release(&lane->context, 0);
        for (uint32_t i = 0; i < LANE_MARKERS; i++) {
                if (lane->event[i])
                        real.cuEventDestroy_v2(lane->event[i]);
                lane->event[i] = NULL;
        }
        lane->first = lane->unmoved = lane->behind = 0;
        store_relaxed(&lane->count, 0);
        lane->has_last = false;
        lane->doubts = 0;
        store_relaxed(&lane->blocked_at_ns, 0);
        store_relaxed(&lane->motion.escapes, 0);
        lane->gap_bits = 0;
        lane->is_drawing = lane->has_bursts = lane->is_measuring = lane->is_picked = false;
        lane->has_left = false;
        lane->thread = lane->shared_at_ns = lane->wary = 0;
        lane->bursts = lane->bursts_to_skip = 0;
        lane->burst_mean_ns = lane->left_ns = 0;
        lane->longest_ns = 0;
        lane->retime_ns = 0;
        lock_take(&work->lock);
        lane->piece = (struct estimate){ 0 };
        lock_drop(&work->lock);
        lane_take_since(lane);
}

/* Its events went with the context. */
void lane_bury(struct lane *lane)
{
        for (uint32_t i = 0; i < LANE_MARKERS; i++)
                lane->event[i] = NULL;
        lane_give_up(lane);
        lane_settle_since(lane);
        store_relaxed(&lane->used_at_ns, 0);
        lane_empty(lane);
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
        store_relaxed(&lane->work, work);
        lane->timeline = timeline_of(context);
        store_relaxed(&lane->used_at_ns, clock_now_ns());
        store_relaxed(&lane->broken, LANE_WAITS);
        store_relaxed(&lane->key, stream_key(stream));
        store_release(&lane->context, key_of(context));
        lane_drop(lane);
        return lane;
}

struct lane *lane_peek(CUcontext context, CUstream stream)
{
        return look(key_of(context), stream_key(stream));
}

void lanes_break(CUcontext context, enum lane_break how)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                if (load_acquire(&lanes.lane[i].context) == key_of(context))
                        lane_break(&lanes.lane[i], how);
        }
}

struct lane *lane_find(CUcontext context, CUstream stream, struct work *work)
{
        struct lane *lane = lane_peek(context, stream);

        if (lane)
                return lane;
        lock_take(&lanes.lock);
        lane = lane_peek(context, stream);
        if (!lane)
                lane = lane_make(context, stream, work);
        lock_drop(&lanes.lock);
        return lane;
}

struct lane *lane_await(CUcontext context, CUstream stream, struct work *work)
{
        struct lane *lane = lane_find(context, stream, work);

        for (unsigned look = 0; !lane && look < LANE_LOOKS; look++) {
                clock_sleep_ns(LANE_LOOK_NS);
                lanes_reap(work);
                lane = lane_find(context, stream, work);
        }
        return lane;
}

static bool lane_wait(struct lane *lane)
{
        for (unsigned look = 0; look < FORGET_LOOKS; look++) {
                if (lane_try(lane))
                        return true;
                clock_sleep_ns(FORGET_LOOK_NS);
        }
        return false;
}

void lanes_leave_stream(CUstream stream)
{
        uint32_t high = load_acquire(&lanes.high);

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];
                bool is_held;

                if (load_acquire(&lane->key) != stream_key(stream))
                        continue;
                is_held = lane_wait(lane);
                lane_break(lane, LANE_WAITS);
                if (is_held)
                        lane_drop(lane);
        }
}

/* Nobody finds it any more. Who holds it may be about to let it go, or has let it go for another
 * context by now: then it is nothing of ours. */
static void lane_leave(struct lane *lane, uint64_t context)
{
        if (!cas_acq_rel(&lane->context, &context, LANE_GONE) || !lane_try(lane))
                return;
        if (lane_is_gone(lane))
                lane_bury(lane);
        lane_drop(lane);
}

/* The lane is held: what was passed is settled, and the rest is what was paid. */
static void lane_end(struct lane *lane)
{
        lane_reap(lane);
        lane_give_up(lane);
        lane_settle_since(lane);
        lane_empty(lane);
        store_relaxed(&lane->used_at_ns, 0);
}

void lanes_forget(CUcontext context)
{
        uint32_t high = context ? load_acquire(&lanes.high) : 0;

        for (uint32_t i = 0; i < high; i++) {
                struct lane *lane = &lanes.lane[i];

                if (load_acquire(&lane->context) != key_of(context))
                        continue;
                if (!lane_wait(lane)) {
                        lane_leave(lane, key_of(context));
                        continue;
                }
                if (load_acquire(&lane->context) == key_of(context))
                        lane_end(lane);
                lane_drop(lane);
        }
        timeline_forget(context);
}
