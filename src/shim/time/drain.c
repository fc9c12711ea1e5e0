/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers a hold of the session (the daemon closes the gate to move memory): reports this process
 * as drained once it has no work in flight. See time.h.
 *
 * Once the gate is closed and no thread is past its check, no new work can begin, so it is enough
 * that each stream is found empty once. If a process cannot know whether it is drained, it does not
 * answer, and the daemon's wait times out.
 */
#include <limits.h>
#include <stddef.h>

#include "common/clock.h"
#include "shim/attach.h"
#include "shim/bell.h"
#include "shim/session.h"
#include "shim/time/fence.h"
#include "shim/time/time.h"

/* Time between checks during a hold: first FIRST_LOOK_NS, then doubled each time, up to
 * LAST_LOOK_NS. */
#define FIRST_LOOK_NS UINT64_C(200000)
#define LAST_LOOK_NS UINT64_C(10000000)

void stream_touch(struct time_stream *stream)
{
        if (!load_relaxed(&stream->is_touched))
                store_release(&stream->is_touched, 1);
}

/* Whether unmetered work may still be in flight in the stream. In a hold, a stream that only
 * another thread can name has a marker behind all of its work. */
static bool is_touched(struct time_stream *stream, uint32_t gate)
{
        bool is_empty;

        if (!load_acquire(&stream->is_touched))
                return false;
        device_stop_looks(stream->device);
        if (stream_is_ending(stream))
                is_empty = false;
        else if (stream->device->driver->is_unseen(stream))
                is_empty = gate && load_acquire(&stream->marked_gate) == gate &&
                           stream_is_told_over(stream);
        else
                is_empty = stream_is_empty(stream);
        device_resume_looks(stream->device);
        if (is_empty)
                store_relaxed(&stream->is_touched, 0);
        return !is_empty;
}

/* What the check of all streams has found so far in a hold. */
struct drain {
        /* number of the hold */
        uint32_t gate;
        /* no stream has work so far */
        bool is_over;
};

static void check_stream_drained(struct time_stream *stream, void *data)
{
        struct drain *drain = data;

        drain->is_over = drain->is_over && !is_touched(stream, drain->gate);
}

static void ask_each(struct time_stream *stream, void *unused)
{
        (void)unused;
        (void)is_touched(stream, 0);
}

/* Places an end marker in a stream that only this thread can name, because other threads cannot
 * ask about it. */
static void mark_stream(struct time_stream *stream, void *data)
{
        const uint32_t *gate = data;

        if (!load_relaxed(&stream->is_of_thread) || stream->device->driver->is_unseen(stream) ||
            load_relaxed(&stream->marked_gate) == *gate ||
            (!load_acquire(&stream->is_touched) && load_acquire(&stream->work) == STREAM_EMPTY))
                return;
        stream_mark_end(stream);
        if (load_acquire(&stream->end_marker))
                store_release(&stream->marked_gate, *gate);
}

void streams_mark_in_hold(void)
{
        const struct limits_page *limits = session_limits();
        uint32_t gate = limits ? load_acquire(shared_half(&limits->gate)) : 0;

        if (gate)
                streams_each(mark_stream, &gate);
}

void streams_untouch(const struct time_driver *driver)
{
        driver->relax(true);
        streams_each(ask_each, NULL);
        driver->relax(false);
}

static bool is_idle(struct time_device *device)
{
        bool is_idle;

        device_look(device, clock_now_ns());
        lock_take(&device->lock);
        is_idle = !device->busy_count;
        lock_drop(&device->lock);
        return is_idle;
}

/* Whether this process has no work in flight in the hold `gate`. Runs in the helper thread. */
static bool is_drained(uint32_t gate)
{
        const struct time_driver *driver = NULL;
        struct drain drain = { .gate = gate, .is_over = true };
        bool is_drained = threads_are_all_known();

        for (unsigned i = 0; i < PAGE_DEVICES && is_drained; i++) {
                struct time_device *device = device_at(i);

                if (!load_acquire(&device->is_ready))
                        continue;
                driver = device->driver;
                is_drained = is_idle(device);
        }
        if (driver && is_drained) {
                driver->relax(true);
                streams_each(check_stream_drained, &drain);
                driver->relax(false);
        }
        return is_drained && drain.is_over;
}

static struct page_slot *own_slot(void)
{
        uint32_t slot = process_slot_plus_one();

        return slot ? &session_slots()->slot[slot - 1] : NULL;
}

/* Answers the hold: no work was in flight after the fence, and none can begin until the gate
 * opens. */
static void answer_hold(struct page_slot *slot, uint32_t gate)
{
        store_release(shared_half(&slot->drained_gate), gate);
        clock_wake(shared_half(&slot->drained_gate), INT_MAX);
        bell_ring(session_slots());
}

bool drain_is_answered(void)
{
        const struct limits_page *limits = session_limits();
        uint32_t gate = limits ? load_acquire(shared_half(&limits->gate)) : 0;
        const struct page_slot *slot = gate ? own_slot() : NULL;

        return slot && load_relaxed(shared_half(&slot->drained_gate)) == gate;
}

uint64_t drain_tend(uint64_t now_ns)
{
        static uint64_t pause_ns = FIRST_LOOK_NS;
        const struct limits_page *limits = session_limits();
        struct page_slot *slot;
        uint32_t gate;

        if (!limits || limits->owner != PAGE_OWNER_DAEMON)
                return CLOCK_NEVER;
        gate = load_acquire(shared_half(&limits->gate));
        slot = gate ? own_slot() : NULL;
        if (!slot || load_relaxed(shared_half(&slot->drained_gate)) == gate) {
                pause_ns = FIRST_LOOK_NS;
                return CLOCK_NEVER;
        }
        fence_all();
        if (threads_are_out() && is_drained(gate)) {
                answer_hold(slot, gate);
                return CLOCK_NEVER;
        }
        now_ns += pause_ns;
        pause_ns = pause_ns * 2 < LAST_LOOK_NS ? pause_ns * 2 : LAST_LOOK_NS;
        return now_ns;
}
