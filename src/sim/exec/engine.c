/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines shared between processes: seats, slices and links.
 *
 * A thread that runs work takes the lock, looks at its seat's clock, and if the clock is not yet
 * where the work ends, sleeps until it can be (as holder) or until the slice in force ends (else).
 * The lock is robust: whoever inherits it from a dead owner finds at worst a half-made hand-over,
 * and engine_repair() makes one anew. A holder is missing only while no seat wants the engine.
 */
#include "sim/exec/engine.h"

#include "sim/node/clock.h"
#include "sim/node/fault.h"
#include "sim/node/proc_stat.h"
#include "sim/node/robust.h"

#include <errno.h>
#include <stdio.h>

/* Longest sleep in one go: how soon a long kernel hears of its end, and the meters of it. */
#define NAP_NS 20000000ULL
#define DEFAULT_SLICE_NS 2000000ULL

static bool has_bit(const uint64_t *bits, unsigned i)
{
        return bits[i / 64] >> (i % 64) & 1;
}

/* The active seat that follows `after` in turn, or EXEC_NO_SEAT. `after` itself comes last. */
static int next_active(const struct exec_device *device, int after)
{
        unsigned words = EXEC_SEATS / 64;
        unsigned first = (unsigned)(after + 1) % EXEC_SEATS;
        uint64_t above = device->active[first / 64] & ~0ULL << first % 64;

        if (above)
                return (int)(first / 64 * 64) + __builtin_ctzll(above);
        for (unsigned step = 1; step <= words; step++) {
                unsigned word = (first / 64 + step) % words;

                if (device->active[word])
                        return (int)(word * 64) + __builtin_ctzll(device->active[word]);
        }
        return EXEC_NO_SEAT;
}

static bool is_contended(const struct exec_device *device)
{
        return device->holder != EXEC_NO_SEAT &&
               next_active(device, device->holder) != device->holder;
}

static void announce(struct exec_device *device)
{
        add_acq_rel(&device->turn, 1);
        if (load_acquire(&device->waiters))
                sim_wake(&device->turn, UINT32_MAX, REACH_NODE);
}

/* Ends the hold at `end_ns` and gives the engine to the next seat that wants it. */
static void hand_over(struct exec_device *device, uint64_t end_ns)
{
        int old = device->holder;
        int next = next_active(device, old);

        if (old != EXEC_NO_SEAT) {
                struct exec_seat *seat = &device->seat[old];

                if (end_ns < device->hold_start_ns)
                        end_ns = device->hold_start_ns;
                seat->held_ns += end_ns - device->hold_start_ns;
                seat->hold_end_ns = end_ns;
        }
        device->holder = next;
        device->idle_since_ns = end_ns;
        if (next != EXEC_NO_SEAT) {
                uint64_t wanted = device->seat[next].wanted_ns;

                device->hold_start_ns = wanted > end_ns ? wanted : end_ns;
        }
        announce(device);
}

/* A seat whose process is gone must not be given slices. */
static void drop_dead(struct exec_device *device, int seat)
{
        struct node *node = node_get();
        uint32_t row = device->seat[seat].row;

        /* A row serves one process after the other. */
        if (!node || (node->row[row].generation == device->seat[seat].generation &&
                      node_row_is_alive(node, row)))
                return;
        device->seat[seat] = (struct exec_seat){ 0 };
        device->active[seat / 64] &= ~(1ULL << (seat % 64));
}

static bool is_stopped(const struct node_row *row)
{
        struct proc_stat process;
        char path[32];

        snprintf(path, sizeof(path), "/proc/%d/stat", row->pid);
        return row->pid_namespace == node_self()->pid_namespace && proc_stat_read(path, &process) &&
               process.start_ticks == row->start_ticks && process.state == 'T';
}

/* What runs ends also if its process is stopped and nobody there says so. It is looked at when the
 * seat has held for a whole slice more; what is queued behind waits for its thread. */
static void drop_stopped(struct exec_device *device, int seat)
{
        struct exec_seat *at = &device->seat[seat];

        if (at->held_ns < at->end_clock + device->slice_ns ||
            !is_stopped(&node_get()->row[at->row]))
                return;
        device->active[seat / 64] &= ~(1ULL << (seat % 64));
        at->back_ns = TIME_NEVER;
}

/* Turns every slice that is over by `now_ns`, one after the other, as if each had been watched. */
static void turn_slices(struct exec_device *device, uint64_t now_ns)
{
        while (is_contended(device) && device->hold_start_ns + device->slice_ns <= now_ns) {
                int next = next_active(device, device->holder);
                uint64_t end_ns = device->hold_start_ns + device->slice_ns;

                drop_dead(device, next);
                drop_stopped(device, next);
                if (!has_bit(device->active, (unsigned)next))
                        continue;
                /* The holder was alone until the next one came. */
                if (device->seat[next].wanted_ns > end_ns)
                        end_ns = device->seat[next].wanted_ns;
                hand_over(device, end_ns);
        }
}

static uint64_t seat_clock(const struct exec_device *device, int seat, uint64_t at_ns)
{
        uint64_t clock = device->seat[seat].held_ns;

        if (device->holder == seat && at_ns > device->hold_start_ns)
                clock += at_ns - device->hold_start_ns;
        return clock;
}

/* When the seat's clock showed `clock`, which it has reached. */
static uint64_t clock_time(const struct exec_device *device, int seat, uint64_t clock)
{
        const struct exec_seat *at = &device->seat[seat];
        uint64_t back;

        if (device->holder == seat && clock >= at->held_ns)
                return device->hold_start_ns + (clock - at->held_ns);
        back = at->held_ns - clock;
        return at->hold_end_ns > back ? at->hold_end_ns - back : 0;
}

/* Who had the lock died in the midst of a change: the seats are right, who holds is decided anew.
 */
static void engine_repair(struct exec_device *device)
{
        for (unsigned i = 0; i < EXEC_SEATS / 64; i++)
                device->active[i] = 0;
        for (int i = 0; i < EXEC_SEATS; i++)
                if (device->seat[i].is_taken && device->seat[i].want)
                        device->active[i / 64] |= 1ULL << (i % 64);
        device->holder = EXEC_NO_SEAT;
        hand_over(device, sim_now_ns());
}

static void engine_lock(struct exec_device *device)
{
        if (robust_lock(&device->lock) == EOWNERDEAD) {
                engine_repair(device);
                pthread_mutex_consistent(&device->lock);
        }
}

static void engine_unlock(struct exec_device *device)
{
        pthread_mutex_unlock(&device->lock);
}

static void engine_open(struct exec_device *device)
{
        const struct sim_config *config = config_get();

        robust_init(&device->lock);
        device->holder = EXEC_NO_SEAT;
        device->slice_ns = config && config->slice_ns ? config->slice_ns : DEFAULT_SLICE_NS;
        device->idle_since_ns = sim_now_ns();
        device->is_open = 1;
}

int exec_place_open(struct exec_place *place, unsigned unit)
{
        struct node *node = node_get();
        struct exec_device *device = (struct exec_device *)node->device[unit].exec;
        const struct node_row *self = node_self();
        int seat = EXEC_NO_SEAT;

        node_device_lock(node, unit);
        if (!device->is_open)
                engine_open(device);
        node_device_unlock(node, unit);

        engine_lock(device);
        for (int i = 0; i < EXEC_SEATS && seat == EXEC_NO_SEAT; i++) {
                if (device->seat[i].is_taken)
                        drop_dead(device, i);
                if (!device->seat[i].is_taken)
                        seat = i;
        }
        if (seat != EXEC_NO_SEAT)
                device->seat[seat] = (struct exec_seat){ .is_taken = 1,
                                                         .row = (uint32_t)(self - node->row),
                                                         .generation = self->generation };
        engine_unlock(device);
        if (seat == EXEC_NO_SEAT)
                return -EBUSY;

        place->device = device;
        place->unit = unit;
        place->seat = seat;
        place->reported_clock = 0;
        store_relaxed(&place->is_closing, false);
        return 0;
}

void exec_place_close(struct exec_place *place)
{
        struct exec_device *device = place->device;
        int seat = place->seat;

        engine_lock(device);
        device->active[seat / 64] &= ~(1ULL << (seat % 64));
        if (device->holder == seat)
                hand_over(device, sim_now_ns());
        device->seat[seat] = (struct exec_seat){ 0 };
        engine_unlock(device);
}

/* Tells the meters what the seat has used since they last heard. */
static void report(struct exec_place *place, uint64_t now_ns)
{
        uint64_t clock = seat_clock(place->device, place->seat, now_ns);
        uint64_t used = clock - place->reported_clock;

        if (clock <= place->reported_clock)
                return;
        place->reported_clock = clock;
        node_busy_add(place->unit, ENGINE_COMPUTE, now_ns > used ? now_ns - used : 0, now_ns);
}

/* Sleeps, without the lock, until the holder changes or `deadline_ns`. */
static void await_turn(struct exec_device *device, uint32_t seen, uint64_t deadline_ns)
{
        if (deadline_ns <= sim_now_ns())
                return;
        add_acq_rel(&device->waiters, 1);
        sim_wait(&device->turn, seen, deadline_ns, REACH_NODE);
        add_acq_rel(&device->waiters, (uint32_t)-1);
}

static bool is_over(const struct exec_place *place)
{
        return load_relaxed(&place->is_closing) || load_relaxed(place->error);
}

static void take_part(struct exec_device *device, int seat, uint64_t since_ns)
{
        if (has_bit(device->active, (unsigned)seat))
                return;
        device->seat[seat].wanted_ns = since_ns;
        device->active[seat / 64] |= 1ULL << (seat % 64);
        if (device->holder != EXEC_NO_SEAT)
                return;
        device->holder = seat;
        device->hold_start_ns = since_ns > device->idle_since_ns ? since_ns : device->idle_since_ns;
}

/* A thread of it is here: it goes on from now, not from where it was stopped. */
static void come_back(struct exec_device *device, int seat)
{
        struct exec_seat *at = &device->seat[seat];

        if (at->back_ns != TIME_NEVER)
                return;
        at->back_ns = sim_now_ns();
        if (at->want)
                take_part(device, seat, at->back_ns);
}

void place_on(struct exec_place *place, struct exec_mark *mark, uint64_t ready_ns)
{
        struct exec_device *device = place->device;
        struct exec_seat *seat = &device->seat[place->seat];

        engine_lock(device);
        come_back(device, place->seat);
        if (ready_ns < seat->back_ns)
                ready_ns = seat->back_ns;
        seat->want += !mark->is_on;
        take_part(device, place->seat, ready_ns);
        /* A chain that was on goes on where it ended, unless this work came later. */
        if (!mark->is_on || (ready_ns > mark->end_ns &&
                             seat_clock(device, place->seat, ready_ns) > mark->end_clock))
                mark->end_clock = seat_clock(device, place->seat, ready_ns);
        if (ready_ns > mark->end_ns)
                mark->end_ns = ready_ns;
        mark->is_on = true;
        engine_unlock(device);
}

void place_run(struct exec_place *place, struct exec_mark *mark, uint64_t ns)
{
        struct exec_device *device = place->device;
        uint64_t end_clock = mark->end_clock + ns;

        engine_lock(device);
        if (device->seat[place->seat].end_clock < end_clock)
                device->seat[place->seat].end_clock = end_clock;
        for (;;) {
                uint64_t now_ns = sim_now_ns();
                uint32_t seen = load_acquire(&device->turn);
                uint64_t clock, wake_ns;
                bool is_holder;

                come_back(device, place->seat);
                turn_slices(device, now_ns);
                report(place, now_ns);
                clock = seat_clock(device, place->seat, now_ns);
                if (clock >= end_clock || is_over(place))
                        break;
                is_holder = device->holder == place->seat;
                wake_ns = is_holder ? device->hold_start_ns +
                                              (end_clock - device->seat[place->seat].held_ns)
                                    : device->hold_start_ns + device->slice_ns;
                if (wake_ns > now_ns + NAP_NS)
                        wake_ns = now_ns + NAP_NS;
                engine_unlock(device);
                if (is_holder)
                        sim_sleep_until(wake_ns);
                else
                        await_turn(device, seen, wake_ns);
                if (config_get()->lost_ns)
                        loss_check();
                engine_lock(device);
        }
        if (is_over(place) && seat_clock(device, place->seat, sim_now_ns()) < end_clock) {
                engine_unlock(device);
                return;
        }
        mark->end_clock = end_clock;
        mark->end_ns = clock_time(device, place->seat, end_clock);
        engine_unlock(device);
}

void place_off(struct exec_place *place, struct exec_mark *mark)
{
        struct exec_device *device = place->device;
        struct exec_seat *seat = &device->seat[place->seat];

        if (!mark->is_on)
                return;
        mark->is_on = false;
        engine_lock(device);
        come_back(device, place->seat);
        if (--seat->want == 0) {
                device->active[place->seat / 64] &= ~(1ULL << (place->seat % 64));
                if (device->holder == place->seat)
                        hand_over(device, mark->end_ns);
                report(place, sim_now_ns());
        }
        engine_unlock(device);
}

uint64_t place_copy(struct exec_place *place, enum exec_link link, uint64_t ready_ns, uint64_t ns)
{
        _Atomic uint64_t *free_ns = &place->device->link_free_ns[link];
        uint64_t seen = load_acquire(free_ns);
        uint64_t start, end;

        do {
                start = seen > ready_ns ? seen : ready_ns;
                end = start + ns;
        } while (ns && !cas_acq_rel(free_ns, &seen, end));
        if (ns) {
                node_busy_add(place->unit, ENGINE_COPY, start, end);
                if (link == LINK_TO_DEVICE || link == LINK_TO_HOST)
                        node_way_add(place->unit,
                                     link == LINK_TO_DEVICE ? WAY_TO_DEVICE : WAY_TO_HOST, start,
                                     end);
        }
        while (sim_now_ns() < end && !is_over(place)) {
                uint64_t nap_ns = sim_now_ns() + NAP_NS;

                sim_sleep_until(end < nap_ns ? end : nap_ns);
        }
        return end;
}
