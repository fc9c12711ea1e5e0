/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See time.h: the answer to a hold of the session.
 *
 * Once the gate is shut and no thread is past it nothing new can begin, so each stream needs to be
 * found empty only once. What a process cannot know it does not answer: the owner's patience ends.
 */
#include <limits.h>
#include <stddef.h>

#include "common/clock.h"
#include "shim/attach.h"
#include "shim/session.h"
#include "shim/time/fence.h"
#include "shim/time/time.h"

/* Looks while a hold waits for the answer: 200 us at first, then longer, to 10 ms. */
#define FIRST_LOOK_NS UINT64_C(200000)
#define LAST_LOOK_NS UINT64_C(10000000)

void stream_touch(struct time_stream *stream)
{
        if (!load_relaxed(&stream->is_touched))
                store_release(&stream->is_touched, 1);
}

/* What was put into it apart from submissions may be in flight still. */
static bool is_touched(struct time_stream *stream)
{
        bool is_empty;

        if (!load_acquire(&stream->is_touched))
                return false;
        lock_take(&stream->device->looking);
        is_empty = !stream->device->driver->is_unseen(stream) && stream_is_empty(stream);
        lock_drop(&stream->device->looking);
        if (is_empty)
                store_relaxed(&stream->is_touched, 0);
        return !is_empty;
}

static void ask(struct time_stream *stream, void *data)
{
        bool *are_empty = data;

        *are_empty = *are_empty && !is_touched(stream);
}

static void ask_each(struct time_stream *stream, void *unused)
{
        (void)unused;
        (void)is_touched(stream);
}

void streams_untouch(const struct time_driver *driver)
{
        driver->relax(true);
        streams_each(UINT64_MAX, ask_each, NULL);
        driver->relax(false);
}

static bool is_over(struct time_device *device)
{
        bool is_over;

        device_look(device, clock_now_ns());
        lock_take(&device->lock);
        is_over = !device->busy_count;
        lock_drop(&device->lock);
        return is_over;
}

/* The helper asks: it disturbs no capture. */
static bool is_drained(void)
{
        const struct time_driver *driver = NULL;
        bool is_drained = threads_are_all_known();

        for (unsigned i = 0; i < PAGE_DEVICES && is_drained; i++) {
                struct time_device *device = device_at(i);

                if (!load_acquire(&device->is_ready))
                        continue;
                driver = device->driver;
                is_drained = is_over(device);
        }
        if (driver && is_drained) {
                driver->relax(true);
                streams_each(UINT64_MAX, ask, &is_drained);
                driver->relax(false);
        }
        return is_drained;
}

static struct page_slot *own_slot(void)
{
        struct process *process = process_attached();
        uint32_t slot = process ? load_acquire(&process->slot_plus_one) : 0;

        return slot ? &session_slots()->slot[slot - 1] : NULL;
}

/* What was so when the fence was made is so until the gate opens. */
static void answer(struct page_slot *slot, uint32_t gate)
{
        struct slots_page *slots = session_slots();

        store_release(shared_half(&slot->drained_gate), gate);
        clock_wake(shared_half(&slot->drained_gate), INT_MAX);
        add_acq_rel(shared_half(&slots->bell), 1);
        clock_wake(shared_half(&slots->bell), INT_MAX);
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
        if (threads_are_out() && is_drained()) {
                answer(slot, gate);
                return CLOCK_NEVER;
        }
        now_ns += pause_ns;
        pause_ns = pause_ns * 2 < LAST_LOOK_NS ? pause_ns * 2 : LAST_LOOK_NS;
        return now_ns;
}
