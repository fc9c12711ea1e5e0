/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See timeline.h. The lock is held across calls of the driver, but only such as wait for nothing.
 */
#include "shim/cuda/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "shim/cuda/front.h"
#include "shim/cuda/real.h"
#include "shim/lock.h"

#define TIMELINES 64u
#define PAGE_BYTES 4096u
#define TIMES_BYTES 8192u
#define RENEW_NS INT64_C(1000000000)
/* The host was held up for longer while it recorded an anchor: once more, a few times. */
#define ANCHOR_NS UINT64_C(100000)
#define ANCHOR_TRIES 4u
/* Its context was destroyed while somebody had the lock: who drops it buries it. */
#define TIMELINE_GONE UINT64_MAX
#define FORGET_LOOKS 1000u
#define FORGET_LOOK_NS 100000

struct timeline {
        struct lock lock;
        _Atomic uint64_t context; /* 0 = free, or TIMELINE_GONE */
        CUstream stream;
        CUevent event[2];
        unsigned base; /* times are told from this one, ... */
        struct anchor anchor;
        bool is_renewing; /* the other one was recorded */
};

static union {
        struct {
                _Atomic uint32_t is_wiped_at_fork;
                struct lock lock; /* for adding */
                struct timeline timeline[TIMELINES];
        };
        unsigned char pages[TIMES_BYTES];
} times __attribute__((aligned(PAGE_BYTES)));

_Static_assert(sizeof(times) == TIMES_BYTES, "whole pages, so that the kernel can wipe them");

/* An event is passed after it was asked for, and at once: as exact as that call was short. */
static bool drop_anchor(struct timeline *timeline, bool is_again)
{
        timeline->is_renewing = false;
        for (unsigned i = 0; i < ANCHOR_TRIES; i++) {
                uint64_t asked_ns = clock_now_ns();

                if (real.cuEventRecord(timeline->event[timeline->base], timeline->stream) !=
                    CUDA_SUCCESS)
                        return false;
                timeline->anchor = is_again ? anchor_again((int64_t)asked_ns)
                                            : (struct anchor){ .base_ns = (int64_t)asked_ns };
                if (clock_now_ns() - asked_ns < ANCHOR_NS)
                        break;
        }
        return true;
}

/* What there is of it. */
static void end_events(struct timeline *timeline)
{
        for (unsigned i = 0; i < 2; i++) {
                if (timeline->event[i])
                        real.cuEventDestroy_v2(timeline->event[i]);
                timeline->event[i] = NULL;
        }
        if (timeline->stream)
                real.cuStreamDestroy_v2(timeline->stream);
        timeline->stream = NULL;
}

static bool make_event(CUevent *ret)
{
        bool is_made = real.cuEventCreate(ret, CU_EVENT_DEFAULT) == CUDA_SUCCESS;

        if (!is_made)
                *ret = NULL;
        return is_made;
}

static bool make_events(struct timeline *timeline)
{
        timeline->base = 0;
        if (real.cuStreamCreate(&timeline->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
                timeline->stream = NULL;
        else if (make_event(&timeline->event[0]) && make_event(&timeline->event[1]) &&
                 drop_anchor(timeline, false))
                return true;
        end_events(timeline);
        return false;
}

static struct timeline *look(uint64_t context)
{
        for (unsigned i = 0; i < TIMELINES; i++) {
                if (load_acquire(&times.timeline[i].context) == context)
                        return &times.timeline[i];
        }
        return NULL;
}

static struct timeline *make(CUcontext context)
{
        struct timeline *timeline = look(0);
        CUcontext popped;
        bool is_made;

        if (!timeline || real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
                return NULL;
        is_made = make_events(timeline);
        real.cuCtxPopCurrent_v2(&popped);
        if (!is_made)
                return NULL;
        store_release(&timeline->context, key_of(context));
        return timeline;
}

struct timeline *timeline_of(CUcontext context)
{
        struct timeline *timeline = look(key_of(context));

        if (timeline)
                return timeline;
        if (!load_relaxed(&times.is_wiped_at_fork)) {
                madvise(&times, sizeof(times), MADV_WIPEONFORK);
                store_relaxed(&times.is_wiped_at_fork, 1);
        }
        lock_take(&times.lock);
        timeline = look(key_of(context));
        if (!timeline)
                timeline = make(context);
        lock_drop(&times.lock);
        return timeline;
}

static CUresult between(CUevent from, CUevent to, int64_t *ret_ns)
{
        float ms = 0;
        CUresult rc = real.cuEventElapsedTime(&ms, from, to);

        if (rc == CUDA_SUCCESS && !stamp_ns(ms, ret_ns))
                rc = CUDA_ERROR_UNKNOWN;
        return rc;
}

/* Under the lock: from the other event once that was passed, which is at once. */
static void renew(struct timeline *timeline)
{
        CUevent from = timeline->event[timeline->base];
        CUevent to = timeline->event[!timeline->base];
        int64_t apart_ns;

        if (!timeline->is_renewing) {
                timeline->is_renewing = real.cuEventRecord(to, timeline->stream) == CUDA_SUCCESS;
        } else if (real.cuEventQuery(to) == CUDA_SUCCESS &&
                   between(from, to, &apart_ns) == CUDA_SUCCESS) {
                timeline->anchor.base_ns += apart_ns;
                timeline->base = !timeline->base;
                timeline->is_renewing = false;
        }
}

/* Under the lock. */
static CUresult read_stamp(struct timeline *timeline, const struct reading *reading,
                           struct stamp *ret)
{
        uint64_t context = key_of(reading->context);
        int64_t apart_ns;
        CUresult rc;

        if (!context || load_acquire(&timeline->context) != context)
                return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        rc = between(timeline->event[timeline->base], reading->event, &apart_ns);
        if (load_acquire(&timeline->context) != context)
                return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (rc == CUDA_SUCCESS &&
            !anchor_place(&timeline->anchor, apart_ns, (int64_t)reading->asked_ns,
                          (int64_t)clock_now_ns(), ret))
                rc = CUDA_ERROR_UNKNOWN;
        if (rc == CUDA_SUCCESS && (apart_ns > RENEW_NS || timeline->is_renewing))
                renew(timeline);
        else if (rc == CUDA_ERROR_UNKNOWN)
                drop_anchor(timeline, true);
        return rc;
}

/* Under the lock, which is dropped. The events of one that is gone went with its context. */
static void leave(struct timeline *timeline)
{
        for (;;) {
                lock_drop(&timeline->lock);
                if (load_acquire(&timeline->context) != TIMELINE_GONE || !lock_try(&timeline->lock))
                        return;
                if (load_acquire(&timeline->context) != TIMELINE_GONE)
                        continue;
                timeline->event[0] = timeline->event[1] = NULL;
                timeline->stream = NULL;
                timeline->is_renewing = false;
                store_release(&timeline->context, 0);
        }
}

CUresult timeline_read(struct timeline *timeline, const struct reading *reading, struct stamp *ret)
{
        CUresult rc;

        lock_take(&timeline->lock);
        rc = read_stamp(timeline, reading, ret);
        leave(timeline);
        return rc;
}

static bool forget_wait(struct timeline *timeline)
{
        for (unsigned look = 0; look < FORGET_LOOKS; look++) {
                if (lock_try(&timeline->lock))
                        return true;
                clock_sleep_ns(FORGET_LOOK_NS);
        }
        return false;
}

void timeline_forget(CUcontext context)
{
        struct timeline *timeline = look(key_of(context));
        uint64_t expected = key_of(context);

        if (!timeline || !context || !cas_acq_rel(&timeline->context, &expected, TIMELINE_GONE) ||
            !forget_wait(timeline))
                return;
        if (load_acquire(&timeline->context) == TIMELINE_GONE)
                end_events(timeline);
        leave(timeline);
}
