/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines shared between processes: seats and slices. The links are in link.c.
 *
 * A thread that runs work reads its seat's clock. If the clock has not reached the end of the work,
 * the thread sleeps: the holder until its clock can reach that end, any other seat until the
 * present slice ends. There is always a holder while any seat has work.
 *
 * Changes are made in drafts (cell.h); other threads are woken after the commit.
 */
#include "sim/exec/engine.h"

#include "common/minmax.h"
#include "sim/node/clock.h"
#include "sim/node/fault.h"

#include <errno.h>
#include <stddef.h>

/* Longest single sleep. It limits how late the end of a long kernel, and the meters, are
 * updated. */
#define NAP_NS 20000000ULL
#define DEFAULT_SLICE_NS 2000000ULL
/* If a holder keeps the engine for longer than this after its queued work is done, it did not
 * merely wake up late: pass_over() then checks whether its process is stopped (SIGSTOP). */
#define STOPPED_NS 1000000ULL

/* A change of the engine's record that is being prepared. `is_turned`: the holder changes. */
struct engine_change {
        struct exec_device *device;
        struct exec_state *state;
        struct cell_draft draft;
        bool is_changed, is_turned;
};

static bool has_bit(const uint64_t *bits, unsigned i)
{
        return bits[i / 64] >> (i % 64) & 1;
}

/* Returns the active seat that follows `after` in turn, or EXEC_NO_SEAT. `after` itself is
 * considered last. */
static int next_active(const struct exec_state *state, int after)
{
        unsigned words = EXEC_SEATS / 64;
        unsigned first = (unsigned)(after + 1) % EXEC_SEATS;
        uint64_t above = state->active[first / 64] & ~0ULL << first % 64;

        if (above)
                return (int)(first / 64 * 64) + __builtin_ctzll(above);
        for (unsigned step = 1; step <= words; step++) {
                unsigned word = (first / 64 + step) % words;

                if (state->active[word])
                        return (int)(word * 64) + __builtin_ctzll(state->active[word]);
        }
        return EXEC_NO_SEAT;
}

static bool is_contended(const struct exec_state *state)
{
        return state->holder != EXEC_NO_SEAT && next_active(state, state->holder) != state->holder;
}

/* Makes `seat` the holder from `at_ns` on. Its work starts when the context switch is over. */
static void give_engine(struct exec_state *state, int seat, uint64_t at_ns)
{
        bool is_switch = state->last != EXEC_NO_SEAT && state->last != seat;

        state->holder = state->last = seat;
        state->hold_start_ns = at_ns + (is_switch ? state->switch_ns : 0);
}

/* Takes the engine from the holder at `end_ns` and gives it to the next active seat. */
static void hand_over(struct engine_change *change, uint64_t end_ns)
{
        struct exec_state *state = change->state;
        int old = state->holder;
        int next = next_active(state, old);

        if (old != EXEC_NO_SEAT) {
                struct exec_seat *seat = &state->seat[old];

                if (end_ns < state->hold_start_ns)
                        end_ns = state->hold_start_ns;
                seat->held_ns += end_ns - state->hold_start_ns;
                seat->hold_end_ns = end_ns;
        }
        state->holder = next;
        state->idle_since_ns = end_ns;
        if (next != EXEC_NO_SEAT) {
                uint64_t wanted = state->seat[next].wanted_ns;

                give_engine(state, next, max_u64(wanted, end_ns));
        }
        change->is_changed = true;
        change->is_turned = true;
}

static void leave_turn(struct engine_change *change, unsigned seat)
{
        change->state->active[seat / 64] &= ~(1ULL << (seat % 64));
        change->is_changed = true;
}

static void take_turn(struct engine_change *change, int seat, uint64_t ready_ns)
{
        struct exec_state *state = change->state;

        state->seat[seat].wanted_ns = ready_ns;
        state->active[seat / 64] |= 1ULL << (seat % 64);
        if (state->holder == EXEC_NO_SEAT)
                give_engine(state, seat,
                            ready_ns > state->idle_since_ns ? ready_ns : state->idle_since_ns);
        change->is_changed = true;
}

/* Frees the seat if its process is dead, so that it gets no slices. */
static void drop_dead(struct engine_change *change, int seat)
{
        struct exec_seat *at = &change->state->seat[seat];
        struct sim_node *node = node_get();

        /* A row is reused, so a live row with another generation belongs to another process. */
        if (!node ||
            (node->row[at->row].generation == at->generation && node_row_is_alive(node, at->row)))
                return;
        leave_turn(change, (unsigned)seat);
        /* otherwise the next process with this seat would be counted as the holder since then */
        if (change->state->holder == seat)
                hand_over(change, sim_now_ns());
        *at = (struct exec_seat){ 0 };
}

static uint64_t seat_clock(const struct exec_state *state, int seat, uint64_t at_ns)
{
        uint64_t clock = state->seat[seat].held_ns;

        if (state->holder == seat && at_ns > state->hold_start_ns)
                clock += at_ns - state->hold_start_ns;
        return clock;
}

/* Returns the time at which the seat's clock showed `clock`, a value that it has reached. */
static uint64_t clock_time(const struct exec_state *state, int seat, uint64_t clock)
{
        const struct exec_seat *at = &state->seat[seat];
        uint64_t back;

        if (state->holder == seat && clock >= at->held_ns)
                return state->hold_start_ns + (clock - at->held_ns);
        back = at->held_ns - clock;
        return at->hold_end_ns > back ? at->hold_end_ns - back : 0;
}

/* Skips the holder if it has done all its queued work and its process is stopped: a stopped process
 * cannot give up the engine itself. */
static bool pass_over(struct engine_change *change, uint64_t now_ns)
{
        struct exec_state *state = change->state;
        int holder = state->holder;
        uint64_t queued = load_acquire(&change->device->queued_clock[holder]);
        uint64_t end_ns;

        if (seat_clock(state, holder, now_ns) < queued + STOPPED_NS || !node_get() ||
            !node_row_is_stopped(node_get(), state->seat[holder].row))
                return false;
        end_ns = queued > state->seat[holder].held_ns ? clock_time(state, holder, queued) : 0;
        leave_turn(change, (unsigned)holder);
        hand_over(change, end_ns);
        return true;
}

/* Performs all changes of the holder that were due by `now_ns`, one after the other, at the times
 * when they were due. */
static void turn_slices(struct engine_change *change, uint64_t now_ns)
{
        struct exec_state *state = change->state;

        while (is_contended(state)) {
                int next = next_active(state, state->holder);
                uint64_t end_ns = state->hold_start_ns + state->slice_ns;

                if (pass_over(change, now_ns))
                        continue;
                /* Even before the slice is over: otherwise, when the holder gives up the engine
                 * early, a dead process's seat would get the rest of the time, again and again. */
                drop_dead(change, next);
                if (!has_bit(state->active, (unsigned)next))
                        continue;
                if (end_ns > now_ns)
                        break;
                /* The next seat got its work only after the slice was over; until then the holder
                 * had no rival. */
                if (state->seat[next].wanted_ns > end_ns)
                        end_ns = state->seat[next].wanted_ns;
                hand_over(change, end_ns);
        }
}

static void change_begin(struct engine_change *change, struct exec_device *device)
{
        *change = (struct engine_change){ .device = device };
        change->state = cell_begin(&device->cell, device->state, &change->draft);
}

/* Commits the change. False: another thread committed first, and nothing was changed. */
static bool change_end(struct engine_change *change)
{
        struct exec_device *device = change->device;

        if (!change->is_changed) {
                cell_drop(&change->draft);
                return true;
        }
        if (!cell_commit(&change->draft))
                return false;
        if (change->is_turned) {
                add_acq_rel(&device->turn, 1);
                if (load_acquire(&device->waiters))
                        sim_wake(&device->turn, UINT32_MAX, REACH_NODE);
        }
        return true;
}

static void engine_open(struct exec_device *device)
{
        const struct sim_config *config = config_get();
        struct exec_state *state = &device->state[0];

        cell_make(&device->cell, sizeof(device->state[0]));
        cell_make(&device->link_cell, sizeof(device->links[0]));
        device->links[0].head.bytes = sizeof(device->links[0]);
        state->head.bytes = offsetof(struct exec_state, seat);
        state->holder = state->last = EXEC_NO_SEAT;
        state->switch_ns = config ? config->switch_ns : 0;
        state->slice_ns = config && config->slice_ns ? config->slice_ns : DEFAULT_SLICE_NS;
        state->idle_since_ns = sim_now_ns();
        device->is_open = 1;
}

/* Returns a free seat, or EXEC_NO_SEAT. */
static int find_seat(struct engine_change *change)
{
        struct exec_state *state = change->state;

        for (int i = 0; i < (int)state->high; i++) {
                if (state->seat[i].is_taken)
                        drop_dead(change, i);
                if (!state->seat[i].is_taken)
                        return i;
        }
        if (state->high == EXEC_SEATS)
                return EXEC_NO_SEAT;
        state->head.bytes = offsetof(struct exec_state, seat[state->high + 1]);
        return (int)state->high++;
}

int exec_place_open(struct exec_place *place, unsigned unit)
{
        struct sim_node *node = node_get();
        struct exec_device *device = (struct exec_device *)node->device[unit].exec;
        const struct node_row *self = node_self();
        struct engine_change change;
        int seat;

        node_device_lock(node, unit);
        if (!device->is_open)
                engine_open(device);
        node_device_unlock(node, unit);

        do {
                change_begin(&change, device);
                seat = find_seat(&change);
                if (seat != EXEC_NO_SEAT)
                        change.state->seat[seat] =
                                (struct exec_seat){ .is_taken = 1,
                                                    .row = (uint32_t)(self - node->row),
                                                    .generation = self->generation };
                change.is_changed = true;
        } while (!change_end(&change));
        if (seat == EXEC_NO_SEAT)
                return -EBUSY;

        place->device = device;
        place->unit = unit;
        place->seat = seat;
        store_relaxed(&device->queued_clock[seat], 0);
        store_relaxed(&place->reported_clock, 0);
        store_relaxed(&place->is_closing, false);
        return 0;
}

void exec_place_close(struct exec_place *place)
{
        struct engine_change change;

        do {
                change_begin(&change, place->device);
                leave_turn(&change, (unsigned)place->seat);
                if (change.state->holder == place->seat)
                        hand_over(&change, sim_now_ns());
                change.state->seat[place->seat] = (struct exec_seat){ 0 };
        } while (!change_end(&change));
}

/* Adds the time that the seat has used since the last report to the meters. */
static void report_use(struct exec_place *place, uint64_t clock, uint64_t now_ns)
{
        uint64_t seen = load_acquire(&place->reported_clock);

        while (clock > seen && !cas_acq_rel(&place->reported_clock, &seen, clock))
                ;
        if (clock > seen)
                node_busy_add(place->unit, ENGINE_COMPUTE,
                              now_ns > clock - seen ? now_ns - (clock - seen) : 0, now_ns);
}

/* Sleeps until the holder changes or until `deadline_ns`. */
static void await_turn(struct exec_device *device, uint32_t seen, uint64_t deadline_ns)
{
        if (deadline_ns <= sim_now_ns())
                return;
        add_acq_rel(&device->waiters, 1);
        sim_wait(&device->turn, seen, deadline_ns, REACH_NODE);
        add_acq_rel(&device->waiters, (uint32_t)-1);
}

static bool has_stopped(const struct exec_place *place)
{
        return load_relaxed(&place->is_closing) || load_relaxed(place->error);
}

/* Raises the seat's queued_clock to `clock`: the seat has work up to there. */
static void promise(struct exec_place *place, uint64_t clock)
{
        _Atomic uint64_t *queued = &place->device->queued_clock[place->seat];
        uint64_t seen = load_relaxed(queued);

        while (clock > seen && !cas_acq_rel(queued, &seen, clock))
                ;
}

void place_promise(struct exec_place *place, struct exec_queue *queue, uint64_t ns)
{
        promise(place, load_relaxed(&queue->clock) + add_relaxed(&queue->ns, ns) + ns);
}

/* Records in the stream's queue where its current work starts, and raises the seat's queued_clock
 * by the work queued there. */
static void promise_ahead(struct exec_place *place, const struct exec_mark *mark)
{
        struct exec_queue *queue = mark->queue;

        if (!queue)
                return;
        store_relaxed(&queue->clock, mark->end_clock);
        promise(place, mark->end_clock + load_relaxed(&queue->ns));
}

void place_on(struct exec_place *place, struct exec_mark *mark, uint64_t ready_ns)
{
        struct engine_change change;
        uint64_t clock;

        do {
                change_begin(&change, place->device);
                if (!mark->is_on && change.state->seat[place->seat].want++ == 0)
                        take_turn(&change, place->seat, ready_ns);
                change.is_changed |= !mark->is_on;
                clock = seat_clock(change.state, place->seat, ready_ns);
        } while (!change_end(&change));
        /* The operation starts where the previous one of the sequence ended, unless it was ready
         * only later. */
        if (!mark->is_on || (ready_ns > mark->end_ns && clock > mark->end_clock))
                mark->end_clock = clock;
        if (ready_ns > mark->end_ns)
                mark->end_ns = ready_ns;
        mark->is_on = true;
        promise_ahead(place, mark);
}

/* How far a seat is: whether its clock has reached the end of the work, and at which time
 * (`end_ns`); otherwise when the thread should look again (`wake_ns`). */
struct standing {
        bool is_reached, is_holder;
        uint64_t end_ns, wake_ns;
};

/* Returns the part of the seat's clock that is work. A stopped process with the only active seat
 * stays the holder after its queued work, until it continues and gives up the engine. */
static uint64_t worked_clock(const struct exec_place *place, uint64_t clock, uint64_t end_clock)
{
        uint64_t queued = load_acquire(&place->device->queued_clock[place->seat]);

        if (queued < end_clock)
                queued = end_clock;
        return min_u64(clock, queued);
}

static void look_at_seat(struct exec_place *place, uint64_t end_clock, struct standing *ret)
{
        struct engine_change change;
        const struct exec_state *state;
        uint64_t now_ns, clock;

        do {
                change_begin(&change, place->device);
                state = change.state;
                now_ns = sim_now_ns();
                clock = seat_clock(state, place->seat, now_ns);
                /* The seat was skipped while its process was stopped, and the process has
                 * continued. */
                if (clock < end_clock && !has_bit(state->active, (unsigned)place->seat))
                        take_turn(&change, place->seat, now_ns);
                turn_slices(&change, now_ns);
                clock = seat_clock(state, place->seat, now_ns);
                ret->is_reached = clock >= end_clock;
                if (ret->is_reached)
                        ret->end_ns = clock_time(state, place->seat, end_clock);
                ret->is_holder = state->holder == place->seat;
                ret->wake_ns = state->hold_start_ns +
                               (ret->is_holder ? end_clock - state->seat[place->seat].held_ns
                                               : state->slice_ns);
        } while (!change_end(&change));
        report_use(place, worked_clock(place, clock, end_clock), now_ns);
        if (ret->wake_ns > now_ns + NAP_NS)
                ret->wake_ns = now_ns + NAP_NS;
}

void place_run(struct exec_place *place, struct exec_mark *mark, uint64_t ns)
{
        struct exec_device *device = place->device;
        uint64_t end_clock = mark->end_clock + ns;
        struct standing standing;

        promise(place, end_clock);
        for (;;) {
                uint32_t seen = load_acquire(&device->turn);

                look_at_seat(place, end_clock, &standing);
                if (standing.is_reached)
                        break;
                if (has_stopped(place))
                        return;
                if (standing.is_holder)
                        sim_sleep_until(standing.wake_ns);
                else
                        await_turn(device, seen, standing.wake_ns);
                if (config_get()->lost_ns)
                        loss_check();
        }
        mark->end_clock = end_clock;
        mark->end_ns = standing.end_ns;
}

void place_off(struct exec_place *place, struct exec_mark *mark)
{
        struct engine_change change;
        uint64_t now_ns, clock;
        bool is_last;

        if (!mark->is_on)
                return;
        mark->is_on = false;
        do {
                change_begin(&change, place->device);
                is_last = --change.state->seat[place->seat].want == 0;
                change.is_changed = true;
                if (is_last) {
                        leave_turn(&change, (unsigned)place->seat);
                        if (change.state->holder == place->seat)
                                hand_over(&change, mark->end_ns);
                }
                now_ns = sim_now_ns();
                clock = seat_clock(change.state, place->seat, now_ns);
        } while (!change_end(&change));
        if (!is_last)
                return;
        /* estimates of the finished work no longer count */
        store_relaxed(&place->device->queued_clock[place->seat], clock);
        report_use(place, clock, now_ns);
}
