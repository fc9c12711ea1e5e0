/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the driver what of a device's work is still in flight (time.h).
 *
 *      device_mark(device, stream)     // after a submission: markers behind a round that is full
 *      device_look(device, due_ns)     // looks, unless another thread looked since due_ns
 *
 * A round gets a marker in each stream that has work and about which the driver may be asked, up to
 * TIME_ROUND_MARKERS. A look drops the markers that have passed, and removes their rounds from the
 * window, the oldest first. If all markers have passed, the look asks the driver about the streams
 * themselves. A thread may submit to a stream just after it seemed empty. So the look then ends all
 * credit, makes sure that no thread is past its check (turn_end()), and asks about these streams
 * once more. If they are still empty, the flight ends. Otherwise it goes on, and is billed until
 * now.
 *
 * A parked stream (park.c) does no work, so its markers tell nothing. If the driver cannot be asked
 * about a stream, because it is captured or destroyed, its work is over when its end marker has
 * passed, or after a certain time. A round for which the driver gave no event ends with its flight.
 *
 * One thread at a time looks, and holds `looking`. A thread that has to change markers asks for a
 * pause first (device_stop_looks()), because the lock is not fair: threads that look often would
 * keep it.
 */
#include <stddef.h>

#include "common/clock.h"
#include "shim/helper.h"
#include "shim/time/fence.h"
#include "shim/time/time.h"

/* If a stream has no marker, its work counts as complete this long after its last submission:
 * the length of a round, clamped to these bounds. */
#define UNSEEN_MIN_NS UINT64_C(100000)
#define UNSEEN_MAX_NS (UINT64_C(2) * WINDOW_TARGET_NS)
/* Maximum number of markers in a parked stream. */
#define MARKERS_BEHIND_WAITS 3u
/* When the work of a destroyed stream without a marker counts as complete. */
#define UNMARKED_NS CLOCK_SECOND_NS
/* How long a thread that wants to look sleeps while another thread wants looks to stop. */
#define WANTED_NS UINT64_C(20000)

void device_stop_looks(struct time_device *device)
{
        add_acq_rel(&device->wanted, 1);
        lock_take(&device->looking);
        add_acq_rel(&device->wanted, -1u);
}

void device_resume_looks(struct time_device *device)
{
        lock_drop(&device->looking);
}

/* -- Markers ---------------------------------------------------------------------------------- */

/* What a look learns from a marker. */
enum marked {
        MARKER_PASSED,
        MARKER_TO_COME,
        MARKER_PARKED, /* nothing: the marker's stream is parked */
};

static enum marked state_of(const struct time_marker *marker)
{
        const struct time_driver *driver = marker->stream->device->driver;

        if (stream_is_ending(marker->stream))
                return MARKER_TO_COME;
        if (driver->is_passed(marker->stream, marker->marker))
                return MARKER_PASSED;
        return stream_is_parked(marker->stream) ? MARKER_PARKED : MARKER_TO_COME;
}

/* Drops the marker if it has passed, or if its stream is parked; sets `is_parked` in that case.
 * Returns whether no marker is left. */
static bool is_marker_passed(struct time_device *device, struct time_marker *marker,
                             bool *is_parked)
{
        enum marked state = marker->marker ? state_of(marker) : MARKER_PASSED;

        if (!marker->marker || state == MARKER_TO_COME)
                return !marker->marker;
        *is_parked |= state == MARKER_PARKED;
        device->driver->drop(marker->stream, marker->marker);
        marker->marker = NULL;
        store_relaxed(&marker->stream->used_ns, clock_now_ns());
        lock_take(&device->lock);
        add_relaxed(&marker->stream->markers, -1u);
        lock_drop(&device->lock);
        return true;
}

static void pass_rounds(struct time_device *device, uint32_t passed,
                        const struct window_looks *looks)
{
        lock_take(&device->lock);
        window_pass(&device->window, passed, looks);
        stuck_not(&device->stuck, clock_now_ns());
        lock_drop(&device->lock);
}

/* Polls the markers of the rounds, oldest first, and removes complete rounds from the window.
 * Returns true if a marker has not passed. The last look at the markers was at `seen_ns`. The
 * thread that holds `looking` owns these rounds; other threads only append rounds. The length of
 * a round that is complete because a stream is parked says nothing about its work. */
static bool look_at_markers(struct time_device *device, uint64_t seen_ns)
{
        uint32_t first, count, passed = 0;
        bool is_pending = false, is_unmarked = false, is_parked = false;

        lock_take(&device->lock);
        first = device->window.first;
        count = device->window.count;
        lock_drop(&device->lock);
        while (passed < count && !is_pending && !is_unmarked) {
                struct time_marker *marker = device->marker[(first + passed) % WINDOW_ROUNDS];

                is_unmarked = device->is_unmarked[(first + passed) % WINDOW_ROUNDS];
                for (unsigned i = 0; i < TIME_ROUND_MARKERS && !is_pending; i++)
                        is_pending = !is_marker_passed(device, &marker[i], &is_parked);
                passed += !is_pending && !is_unmarked;
        }
        if (passed) {
                struct window_looks looks = { .seen_ns = seen_ns, .now_ns = clock_now_ns() };

                looks.shut_ns = is_parked ? looks.now_ns : load_relaxed(&device->shut_ns);
                if (!load_relaxed(&device->standing))
                        looks.seen_ns = looks.now_ns;
                pass_rounds(device, passed, &looks);
        }
        return is_pending;
}

/* The streams that get a marker of a full round: those without a pending marker, so that the
 * round has a marker behind all its work. Parked streams get none, because the marker would mean
 * nothing. Of default streams, only the one that filled the round gets one: a marker in a
 * default stream would end a capture that another thread has begun since. No lock can prevent
 * that, because the thread that begins a capture must not wait for a full stream. */
struct chosen {
        struct time_stream *stream[TIME_ROUND_MARKERS];
        unsigned count;
};

/* Chooses the streams; `stream`, which filled the round, is the first. The caller holds the
 * device's lock. */
static void choose_streams(struct time_device *device, struct time_stream *stream,
                           struct chosen *ret)
{
        ret->stream[0] = stream;
        ret->count = 1;
        for (uint32_t i = 0; i < device->busy_count && ret->count < TIME_ROUND_MARKERS; i++) {
                struct time_stream *other = device->busy[i];

                if (other != stream && other->order != STREAM_DEFAULT &&
                    !load_relaxed(&other->markers) && !load_relaxed(&other->is_captured) &&
                    !load_relaxed(&other->is_gone) && !device->driver->is_unseen(other))
                        ret->stream[ret->count++] = other;
        }
}

/* Removes parked streams from the chosen ones. Asks the driver, as a look does. */
static void leave_out_parked(struct time_device *device, struct chosen *chosen)
{
        unsigned count = 0;

        device->driver->relax(true);
        for (unsigned i = 0; i < chosen->count; i++) {
                if (!stream_is_parked(chosen->stream[i]))
                        chosen->stream[count++] = chosen->stream[i];
        }
        device->driver->relax(false);
        chosen->count = count;
}

/* Whether a marker may be placed in the stream. Markers behind a wait take space in the stream,
 * so a parked stream gets only a few. Further rounds there complete with the markers of their
 * other streams. */
static bool has_room_for_marker(struct time_device *device, const struct time_stream *stream)
{
        bool has_room;

        lock_take(&device->lock);
        has_room = !load_relaxed(&stream->parks) ||
                   load_relaxed(&stream->markers) < MARKERS_BEHIND_WAITS;
        lock_drop(&device->lock);
        return has_room;
}

/* Places a marker in the stream if it may have one. Returns false if it may but no event was
 * available. */
static bool place_marker(struct time_device *device, struct time_marker *ret,
                         struct time_stream *stream)
{
        bool is_meant;

        *ret = (struct time_marker){ .stream = stream };
        lock_take(&stream->lock);
        is_meant = !load_relaxed(&stream->is_captured) && !load_relaxed(&stream->is_gone) &&
                   has_room_for_marker(device, stream);
        if (is_meant)
                ret->marker = device->driver->record(stream);
        lock_drop(&stream->lock);
        return !is_meant || ret->marker;
}

/* Exchanges the markers of the round at index `at`; `marker` gets the old ones, whose flight has
 * ended. The caller holds the device's lock. */
static void change_markers(struct time_device *device, uint32_t at,
                           struct time_marker marker[TIME_ROUND_MARKERS])
{
        for (unsigned i = 0; i < TIME_ROUND_MARKERS; i++) {
                struct time_marker old = device->marker[at][i];

                if (old.marker)
                        add_relaxed(&old.stream->markers, -1u);
                if (marker[i].marker)
                        add_relaxed(&marker[i].stream->markers, 1);
                device->marker[at][i] = marker[i];
                marker[i] = old;
        }
}

/* Closes the round that is being filled, with these markers. The caller holds the device's lock,
 * and no thread looks at the markers of rounds. */
static void close_round(struct time_device *device, struct time_marker marker[TIME_ROUND_MARKERS],
                        bool is_unmarked)
{
        unsigned at = window_close(&device->window);

        device->is_unmarked[at] = is_unmarked;
        change_markers(device, at, marker);
}

/* Chooses the streams that get a marker. Returns whether the round is still full. `ret_cleared`:
 * how often the window was emptied so far. */
static bool choose_for_round(struct time_device *device, struct time_stream *stream,
                             struct chosen *ret, uint32_t *ret_cleared)
{
        bool is_due;

        device_stop_looks(device);
        lock_take(&device->lock);
        *ret_cleared = device->window.cleared;
        is_due = window_is_due(&device->window);
        if (is_due)
                choose_streams(device, stream, ret);
        lock_drop(&device->lock);
        if (is_due)
                leave_out_parked(device, ret);
        device_resume_looks(device);
        return is_due;
}

static void mark_round(struct time_device *device, struct time_stream *stream)
{
        struct time_marker marker[TIME_ROUND_MARKERS] = { 0 };
        struct chosen chosen;
        bool is_unmarked = false;
        uint32_t cleared;

        if (!choose_for_round(device, stream, &chosen, &cleared))
                return;
        for (unsigned i = 0; i < chosen.count; i++)
                is_unmarked |= !place_marker(device, &marker[i], chosen.stream[i]);
        for (unsigned i = 0; i < chosen.count; i++)
                is_unmarked &= !marker[i].marker;
        device_stop_looks(device);
        lock_take(&device->lock);
        if (device->window.cleared == cleared)
                close_round(device, marker, is_unmarked);
        lock_drop(&device->lock);
        device_resume_looks(device);
        for (unsigned i = 0; i < TIME_ROUND_MARKERS; i++) {
                if (marker[i].marker)
                        device->driver->drop(marker[i].stream, marker[i].marker);
        }
}

/* Placing a marker may block while a stream is full, until much of its work completes. Looks and
 * submissions to other streams go on meanwhile. If a look ends the flight, and the round with
 * it, the markers are dropped. */
void device_mark(struct time_device *device, struct time_stream *stream)
{
        if (!lock_try(&device->marking))
                return;
        mark_round(device, stream);
        lock_drop(&device->marking);
}

/* -- Streams ---------------------------------------------------------------------------------- */

/* Whether a stream about which the driver cannot be asked counts as empty by the clock. It does
 * some time after its last submission, once its markers have passed, because at most one round
 * is behind them. */
static bool is_over_by_now(struct time_device *device, struct time_stream *stream)
{
        uint64_t round_ns;
        bool is_marked;

        lock_take(&device->lock);
        round_ns = device->window.took_ns;
        is_marked = load_relaxed(&stream->markers) != 0;
        lock_drop(&device->lock);
        if (!round_ns || round_ns > UNSEEN_MAX_NS)
                round_ns = UNSEEN_MAX_NS;
        if (round_ns < UNSEEN_MIN_NS)
                round_ns = UNSEEN_MIN_NS;
        return !is_marked && clock_now_ns() > load_relaxed(&stream->used_ns) + round_ns;
}

bool stream_is_empty(struct time_stream *stream)
{
        bool is_empty;

        if (!lock_try(&stream->lock))
                return false;
        is_empty = !load_relaxed(&stream->is_captured) && !load_relaxed(&stream->is_gone) &&
                   stream->device->driver->is_empty(stream);
        lock_drop(&stream->lock);
        return is_empty;
}

static void change_end(struct time_stream *stream, bool is_marked)
{
        void *old;

        lock_take(&stream->lock);
        old = load_relaxed(&stream->end_marker);
        store_release(&stream->end_marker, is_marked && !load_relaxed(&stream->is_captured)
                                                   ? stream->device->driver->record(stream)
                                                   : NULL);
        lock_drop(&stream->lock);
        if (old)
                stream->device->driver->drop(stream, old);
}

void stream_mark_end(struct time_stream *stream)
{
        change_end(stream, true);
}

void stream_unmark_end(struct time_stream *stream)
{
        if (load_relaxed(&stream->end_marker))
                change_end(stream, false);
}

bool stream_is_told_over(struct time_stream *stream)
{
        void *marker;
        bool is_passed;

        if (!lock_try(&stream->lock))
                return false;
        marker = load_relaxed(&stream->end_marker);
        is_passed = marker && stream->device->driver->is_passed(stream, marker);
        lock_drop(&stream->lock);
        return is_passed;
}

/* Whether a stream about which the driver cannot be asked now is empty, by its end marker. If a
 * thread's own stream has no marker, the thread submitted to it while nothing was limited; then
 * the clock decides. The legacy default stream can be asked about again when no thread captures. */
static bool is_told_over(struct time_device *device, struct time_stream *stream)
{
        if (!load_acquire(&stream->end_marker))
                return load_relaxed(&stream->is_of_thread) && is_over_by_now(device, stream);
        return stream_is_told_over(stream);
}

/* Whether the work of a destroyed stream is complete. A stream that was destroyed during a
 * capture has no marker; the end of its work is unknown, so UNMARKED_NS must have passed. */
static bool is_ended(struct time_stream *stream)
{
        void *marker = load_acquire(&stream->end_marker);

        if (!marker)
                return clock_now_ns() > load_relaxed(&stream->used_ns) + UNMARKED_NS;
        return stream->device->driver->is_passed(stream, marker);
}

static bool is_empty(struct time_device *device, struct time_stream *stream)
{
        if (load_acquire(&stream->is_gone))
                return is_ended(stream);
        if (device->driver->is_unseen(stream))
                return is_told_over(device, stream);
        return stream_is_empty(stream);
}

/* Sets `ret` to the streams with work, the latest first. Returns their number. */
static unsigned streams_of(struct time_device *device, struct time_stream *ret[TIME_LOOK_STREAMS])
{
        unsigned count;

        lock_take(&device->lock);
        for (count = 0; count < device->busy_count && count < TIME_LOOK_STREAMS; count++)
                ret[count] = device->busy[device->busy_count - 1 - count];
        lock_drop(&device->lock);
        return count;
}

/* What a look at the streams found. */
struct found {
        struct time_stream *stream[TIME_LOOK_STREAMS]; /* streams that seem empty */
        unsigned empty;
        /* number of parked streams */
        unsigned parked;
        /* a stream is not empty, and the look ended there */
        bool is_busy;
};

/* Asks about all streams with work, until the first one that is not empty. */
static void find_empty_streams(struct time_device *device, struct found *ret)
{
        struct time_stream *stream[TIME_LOOK_STREAMS];
        unsigned count = streams_of(device, stream);

        ret->empty = ret->parked = 0;
        ret->is_busy = false;
        for (unsigned i = 0; i < count && !ret->is_busy; i++) {
                bool may_ask = !stream_is_ending(stream[i]);

                if (may_ask && stream_is_parked(stream[i]))
                        ret->parked++;
                else if (may_ask && is_empty(device, stream[i]))
                        ret->stream[ret->empty++] = stream[i];
                else
                        ret->is_busy = true;
        }
}

static bool are_empty(struct time_device *device, const struct found *found)
{
        unsigned i = 0;

        while (i < found->empty && is_empty(device, found->stream[i]))
                i++;
        return i == found->empty;
}

/* Asks once more about the streams that seemed empty, after all credit has ended. Returns true
 * if they are empty. */
static bool ask_again(struct time_device *device, const struct found *found)
{
        bool is_sure;

        for (unsigned i = 0; i < found->empty; i++) {
                uint32_t busy = STREAM_BUSY;

                cas_acq_rel(&found->stream[i]->work, &busy, STREAM_ASKED);
        }
        is_sure = turn_end(&device->epoch) && are_empty(device, found);
        for (unsigned i = 0; i < found->empty && !is_sure; i++) {
                uint32_t asked = STREAM_ASKED;

                cas_acq_rel(&found->stream[i]->work, &asked, STREAM_BUSY);
        }
        return is_sure;
}

/* Notes that work is in flight at `now_ns`, and bills it. If the bucket is empty, closes the
 * gate. */
static void note_busy(struct time_device *device, uint64_t now_ns)
{
        struct terms terms = account_terms(&device->account, now_ns);

        lock_take(&device->lock);
        device->flight.is_coarse = terms_are_coarse(&terms);
        if (device->flight.begin_ns) {
                flight_seen(&device->flight, now_ns);
        } else if (device->busy_count) {
                flight_begin_unseen(&device->flight, now_ns);
                account_begin(&device->account, device->flight.begin_ns);
        }
        if (device->flight.begin_ns && device->flight.begin_ns < now_ns)
                account_settle(&device->account, device->flight.begin_ns, now_ns);
        lock_drop(&device->lock);
        if (terms_keep_cap(&terms) && account_level_ns(&device->account, &terms, now_ns) <= 0 &&
            !swap_acq_rel(&device->is_filling, 1))
                add_acq_rel(&device->epoch, 1);
}

/* Returns when the flight ended; 0: unknown. */
static uint64_t ended_ns(const struct time_device *device, const struct found *found)
{
        uint64_t now_ns = clock_now_ns();
        bool is_waited_for = !found->parked && load_acquire(&device->blocked) &&
                             load_acquire(&device->blocked_ns) + TIME_BLOCKED_NS <= now_ns;

        return is_waited_for || !helper_runs() ? now_ns : 0;
}

/* Ends the flight. Returns false if it goes on, because a thread has submitted to one of the
 * streams since. */
static bool note_empty(struct time_device *device, const struct found *found)
{
        struct terms terms = account_terms(&device->account, clock_now_ns());
        bool is_over;

        lock_take(&device->lock);
        device->flight.is_coarse = terms_are_coarse(&terms);
        device_empty(device, &(struct emptied){ .stream = found->stream,
                                                .count = found->empty,
                                                .parked = found->parked,
                                                .end_ns = ended_ns(device, found) });
        is_over = !device->flight.begin_ns;
        if (is_over) /* from the next look on it shows whether parked streams have begun to work */
                (void)flight_look_ns(&device->flight, clock_now_ns());
        lock_drop(&device->lock);
        return is_over;
}

/* Finds out whether the submissions that stuck.h let through have completed, while other work in
 * flight goes on. */
static void look_at_let_out(struct time_device *device)
{
        struct time_stream *stream;

        lock_take(&device->lock);
        stream = stuck_is_open(&device->stuck) ? device->let_into : NULL;
        lock_drop(&device->lock);
        if (!stream || stream_is_ending(stream) || stream_is_parked(stream) ||
            !is_empty(device, stream))
                return;
        lock_take(&device->lock);
        stuck_ran(&device->stuck, clock_now_ns());
        lock_drop(&device->lock);
}

/* Looks at all streams of the device, and ends the flight if nothing is in flight. Returns
 * whether it ended. */
static bool finds_nothing(struct time_device *device)
{
        struct found found;

        find_empty_streams(device, &found);
        return !found.is_busy && (!found.empty || ask_again(device, &found)) &&
               note_empty(device, &found);
}

static void look_at_device(struct time_device *device)
{
        uint64_t now_ns = clock_now_ns(), seen_ns = load_relaxed(&device->looked_ns);

        store_relaxed(&device->looked_ns, now_ns);
        if (!look_at_markers(device, seen_ns) && finds_nothing(device))
                return;
        note_busy(device, now_ns);
        look_at_let_out(device);
}

/* Looks go on while streams are parked, because their work may begin at any time. */
uint64_t device_look_ns(const struct time_device *device)
{
        return device->busy_count ? device->flight.look_ns : CLOCK_NEVER;
}

uint64_t device_awaited_look_ns(const struct time_device *device)
{
        return window_over_ns(&device->window, load_relaxed(&device->looked_ns));
}

/* Gets `looking` for a look, after the threads that want looks to stop. The lock is not fair: a
 * thread that looks often would get it again before a sleeping thread wakes up. */
static void take_looking(struct time_device *device)
{
        while (load_acquire(&device->wanted))
                clock_sleep_ns(WANTED_NS);
        lock_take(&device->looking);
}

void device_look(struct time_device *device, uint64_t due_ns)
{
        take_looking(device);
        if (load_relaxed(&device->looked_ns) < due_ns) {
                device->driver->relax(true);
                look_at_device(device);
                device->driver->relax(false);
        }
        lock_drop(&device->looking);
}
