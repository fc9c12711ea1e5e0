/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at flights while the program's threads are elsewhere, in a task of the helper thread
 * (helper.h).
 *
 * tend_soon() starts the task. The task looks at each device when a look is due, and tells the
 * helper when the next one is. That is the time that the flight needs; or the moment at which the
 * cap's bucket runs dry; or, if another session waits for the lease, the time at which the work is
 * expected to end. A thread that waits at the gate looks by itself, so then the task's looks are
 * HELD_UP_NS later. After a flight the task goes on for LINGER_NS, so that the next flight need not
 * wake the helper. In the same task the helper answers holds (drain.c), and runs the task of a
 * front end (tend_also()).
 */
#include "common/clock.h"
#include "common/minmax.h"
#include "shim/helper.h"
#include "shim/time/time.h"

/* How long the helper stays awake for the next flight after a flight. */
#define LINGER_NS UINT64_C(5000000)
/* How much later the helper looks if a thread waits at the gate, which looks by itself. */
#define HELD_UP_NS (2 * FLIGHT_SLOT_NS)

/* Whether another session waits for this one to drain, because the lease does not let it submit. */
static bool is_awaited(const struct terms *terms, uint64_t now_ns)
{
        return !terms_are_open(terms, now_ns);
}

/* Returns when the bucket runs dry, so that the gate closes at that time and not at the
 * account's next look. The check at that time is no look: a flight that ended because of it
 * would make that look count more than others. */
static uint64_t dry_ns(const struct time_device *device, const struct terms *terms, uint64_t now_ns)
{
        if (!terms_keep_cap(terms) || load_relaxed(&device->is_filling))
                return CLOCK_NEVER;
        return account_dry_ns(&device->account, terms, device->flight.begin_ns, now_ns);
}

/* Returns when to look while work is in flight. The caller holds the device's lock. */
static uint64_t look_in_flight_ns(struct time_device *device, uint64_t now_ns)
{
        struct terms terms = account_terms(&device->account, now_ns);
        uint64_t look_ns = device_look_ns(device);
        uint64_t empty_ns = dry_ns(device, &terms, now_ns);

        if (is_awaited(&terms, now_ns))
                look_ns = device_awaited_look_ns(device);
        if (load_relaxed(&device->standing))
                look_ns += HELD_UP_NS;
        return look_ns < empty_ns ? look_ns : empty_ns;
}

/* Returns when to look at the device; CLOCK_NEVER: nothing is in flight or parked, nor was
 * recently. */
static uint64_t look_ns(struct time_device *device, uint64_t now_ns)
{
        struct flight *flight = &device->flight;
        uint64_t ns = CLOCK_NEVER;

        lock_take(&device->lock);
        if (flight->begin_ns)
                ns = look_in_flight_ns(device, now_ns);
        else if (device->busy_count)
                ns = device_look_ns(device);
        else if (flight->ended_ns && now_ns < flight->ended_ns + LINGER_NS)
                ns = flight_look_ns(flight, now_ns);
        lock_drop(&device->lock);
        return ns;
}

static uint64_t tend_device(struct time_device *device, uint64_t now_ns)
{
        uint64_t due_ns = look_ns(device, now_ns);

        if (due_ns > now_ns)
                return due_ns;
        device_look(device, due_ns);
        return look_ns(device, clock_now_ns());
}

static helper_task *_Atomic other_task;

void tend_also(helper_task *task)
{
        store_release(&other_task, task);
}

static uint64_t tend_all(uint64_t now_ns)
{
        uint64_t next_ns = drain_tend(now_ns);
        helper_task *other = load_acquire(&other_task);

        if (other)
                next_ns = min_u64(next_ns, other(now_ns));

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct time_device *device = device_at(i);
                uint64_t due_ns =
                        load_acquire(&device->is_ready) ? tend_device(device, now_ns) : CLOCK_NEVER;

                next_ns = due_ns < next_ns ? due_ns : next_ns;
        }
        return next_ns;
}

void tend_soon(void)
{
        helper_kick(tend_all);
}
