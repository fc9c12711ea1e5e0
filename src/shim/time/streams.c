/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of this process's devices and streams; see time.h.
 *
 * Streams are in an open-addressed hash table. Readers take no lock: an entry keeps its stream
 * until the stream is destroyed, and a program must not use a destroyed stream. Entries are filled
 * and freed under streams.lock.
 */
#include <stddef.h>

#include "common/clock.h"
#include "common/wiped.h"
#include "shim/attach.h"
#include "shim/session.h"
#include "shim/time/credit.h"
#include "shim/time/time.h"

/* The key of an entry whose stream was destroyed; a search continues behind it. */
/* Value of streams.ending: all contexts are held. */
#define KEY_GONE UINT64_MAX
#define EVERY_CONTEXT UINT64_MAX

struct streams {
        struct lock lock;
        _Atomic uint64_t ending; /* the context of context_hold(), or EVERY_CONTEXT; 0: none */
        struct time_device device[PAGE_DEVICES];
        struct time_stream stream[TIME_STREAMS];
};

WIPED_AT_FORK(struct streams, streams);

/* -- Devices ---------------------------------------------------------------------------------- */

static void device_fill(struct time_device *device, int row, const struct time_driver *driver)
{
        uint32_t slot = process_slot_plus_one();
        struct slots_page *slots = session_slots();

        device->account = (struct account){
                .limits = session_limits(),
                .device = &session_limits()->device[row],
                .slots = slots,
                .meter = &slots->meter[row],
                .row = slot ? &slots->row[slot - 1][row] : NULL,
                .at = (unsigned)row,
        };
        device->driver = driver;
        device->flight.seed = session_limits()->session_id[0];
        store_release(&device->is_ready, 1);
}

struct time_device *device_of(int row, const struct time_driver *driver)
{
        struct time_device *device;

        if (row < 0 || row >= (int)PAGE_DEVICES || !session_limits())
                return NULL;
        wiped_mark(streams);
        device = &streams.device[row];
        if (load_acquire(&device->is_ready))
                return device;
        lock_take(&streams.lock);
        if (!load_acquire(&device->is_ready))
                device_fill(device, row, driver);
        lock_drop(&streams.lock);
        return device;
}

struct time_device *device_at(unsigned index)
{
        if (index >= PAGE_DEVICES)
                return NULL;
        return &streams.device[index];
}

/* -- The table -------------------------------------------------------------------------------- */

static uint32_t place_of_key(uint64_t key)
{
        return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % TIME_STREAMS;
}

struct time_stream *stream_find(uint64_t key)
{
        uint32_t first = place_of_key(key);

        for (uint32_t i = 0; i < TIME_STREAMS; i++) {
                struct time_stream *stream = &streams.stream[(first + i) % TIME_STREAMS];
                uint64_t found = load_acquire(&stream->key);

                if (found == key)
                        return stream;
                if (!found)
                        return NULL;
        }
        return NULL;
}

/* Returns an entry for a new stream: one that is free or whose stream was destroyed; else one
 * whose stream has no work, and gets another entry when it is used again. NULL: there is none.
 * The entry's own lock is held on return, so that no thread asks about its stream. The caller
 * holds streams.lock. */
static struct time_stream *take_room(uint64_t key)
{
        uint32_t first = place_of_key(key);
        struct time_stream *idle = NULL;

        for (uint32_t i = 0; i < TIME_STREAMS; i++) {
                struct time_stream *stream = &streams.stream[(first + i) % TIME_STREAMS];
                uint64_t found = load_relaxed(&stream->key);

                if (load_relaxed(&stream->is_touched) || load_relaxed(&stream->markers))
                        continue;
                if ((!found ||
                     (found == KEY_GONE && load_acquire(&stream->work) == STREAM_EMPTY)) &&
                    lock_try(&stream->lock))
                        return stream;
                if (!idle && load_acquire(&stream->work) == STREAM_EMPTY &&
                    !load_relaxed(&stream->user) && !load_relaxed(&stream->is_captured))
                        idle = stream;
        }
        return idle && lock_try(&idle->lock) ? idle : NULL;
}

static void drop_end(struct time_stream *stream)
{
        void *marker = load_relaxed(&stream->end_marker);

        if (marker)
                stream->device->driver->drop(stream, marker);
        store_relaxed(&stream->end_marker, NULL);
}

struct time_stream *stream_make(const struct stream_name *name, struct time_device *device)
{
        struct time_stream *stream;

        lock_take(&streams.lock);
        stream = stream_find(name->key);
        if (!stream) {
                stream = take_room(name->key);
                if (stream) {
                        stream_park_forget(stream);
                        drop_end(stream);
                        store_relaxed(&stream->handle, name->handle);
                        stream->context = name->context;
                        stream->order = name->order;
                        store_relaxed(&stream->is_of_thread, name->is_of_thread);
                        stream->device = device;
                        store_relaxed(&stream->is_captured, 0);
                        store_relaxed(&stream->parked_ns, 0);
                        store_relaxed(&stream->marked_gate, 0);
                        stream->queued_ns = 0;
                        store_relaxed(&stream->is_gone, 0);
                        store_relaxed(&stream->user, 0);
                        store_release(&stream->key, name->key);
                        lock_drop(&stream->lock);
                }
        }
        lock_drop(&streams.lock);
        return stream;
}

void streams_each(void (*each)(struct time_stream *stream, void *data), void *data)
{
        for (uint32_t i = 0; i < TIME_STREAMS; i++) {
                struct time_stream *stream = &streams.stream[i];
                uint64_t key = load_acquire(&stream->key);

                if (key && key != KEY_GONE)
                        each(stream, data);
        }
}

/* -- Work ------------------------------------------------------------------------------------- */

/* Adds the stream to the device's list of busy streams, and begins a flight if there is none.
 * The caller holds the device's lock. */
static void make_busy(struct time_stream *stream, uint64_t now_ns)
{
        struct time_device *device = stream->device;

        store_release(&stream->work, STREAM_BUSY);
        stream->place = device->busy_count;
        device->busy[device->busy_count++] = stream;
        if (!device->flight.begin_ns) {
                flight_begin(&device->flight, now_ns);
                account_begin(&device->account, now_ns);
        }
}

/* Notes this thread as the stream's only user, or STREAM_MANY if it is not the first one. */
static void note_user(struct time_stream *stream)
{
        uint32_t number = credit_here.number, user = load_relaxed(&stream->user);

        while (user != number && user != STREAM_MANY &&
               !cas_acq_rel(&stream->user, &user, user ? STREAM_MANY : number))
                ;
}

/* The stream's `user` is written before `work` is read; stream_told() relies on that order. */
void stream_use(struct time_stream *stream, uint64_t now_ns)
{
        uint32_t asked = STREAM_ASKED;

        store_relaxed(&stream->used_ns, now_ns);
        note_user(stream);
        add_acq_rel(&stream->grants, 1);
        fence_seq_cst();
        if (load_acquire(&stream->work) == STREAM_BUSY ||
            cas_acq_rel(&stream->work, &asked, STREAM_BUSY))
                return;
        lock_take(&stream->device->lock);
        note_user(stream); /* a thread that found the stream empty meanwhile has cleared the user */
        if (load_acquire(&stream->work) == STREAM_EMPTY)
                make_busy(stream, now_ns);
        else
                store_release(&stream->work, STREAM_BUSY);
        lock_drop(&stream->device->lock);
        tend_soon();
}

/* Removes the stream from the device's list of busy streams. The caller holds the device's lock. */
static void remove_busy(struct time_device *device, struct time_stream *stream)
{
        struct time_stream *last = device->busy[device->busy_count - 1];

        device->busy[stream->place] = last;
        last->place = stream->place;
        device->busy_count--;
        store_relaxed(&stream->user, 0);
}

void device_empty(struct time_device *device, const struct emptied *emptied)
{
        uint64_t now_ns = clock_now_ns();
        int64_t rest_ns = 0;
        struct terms terms;

        for (unsigned i = 0; i < emptied->count; i++) {
                struct time_stream *stream = emptied->stream[i];
                bool is_ours =
                        /* The entry may have a stream of another device by now. */
                        stream->device == device;
                uint32_t asked = STREAM_ASKED;

                if (cas_acq_rel(&stream->work, &asked, is_ours ? STREAM_EMPTY : STREAM_BUSY) &&
                    is_ours)
                        remove_busy(device, stream);
        }
        if (device->busy_count > emptied->parked || !device->flight.begin_ns)
                return;
        if (emptied->end_ns) {
                account_settle(&device->account, device->flight.begin_ns, emptied->end_ns);
                flight_end_at(&device->flight, emptied->end_ns);
        } else {
                rest_ns = flight_end(&device->flight, now_ns);
        }
        window_clear(&device->window);
        stuck_not(&device->stuck, now_ns);
        terms = account_terms(&device->account, now_ns);
        account_end(&device->account, rest_ns, terms.turn, now_ns);
}

/* Whether only this thread submits to the stream. This thread has already ended its own credit.
 * A thread that begins to submit writes `user`, then reads `work`; this one writes `work`, then
 * reads `user`. So one of the two sees the other's write. */
static bool is_mine_alone(struct time_stream *stream)
{
        uint32_t busy = STREAM_BUSY;

        if (load_relaxed(&stream->user) != credit_here.number ||
            !cas_acq_rel(&stream->work, &busy, STREAM_ASKED))
                return false;
        fence_seq_cst();
        if (load_relaxed(&stream->user) == credit_here.number)
                return true;
        busy = STREAM_ASKED;
        cas_acq_rel(&stream->work, &busy, STREAM_BUSY);
        return false;
}

struct time_device *wait_blocks(uint64_t now_ns)
{
        struct time_device *device = credit_here.of ? credit_here.of->device : NULL;

        if (!device)
                return NULL;
        if (!load_relaxed(&device->blocked))
                store_relaxed(&device->blocked_ns, now_ns);
        add_acq_rel(&device->blocked, 1);
        return device;
}

void wait_over(struct time_device *device)
{
        if (device)
                add_acq_rel(&device->blocked, -1u);
}

/* Returns when the work of a wait ended. Returns 0 if the wait returned at once, because the
 * work may have ended at any time before. */
static uint64_t blocked_until_ns(uint64_t began_ns, uint64_t now_ns)
{
        return now_ns - began_ns >= TIME_BLOCKED_NS ? now_ns : 0;
}

/* Notes that the stream is empty since `end_ns`; 0: since an unknown time. */
static void told(struct time_stream *stream, uint64_t end_ns)
{
        struct time_device *device = stream->device;

        gate_return_credit();
        if (load_relaxed(&stream->is_of_thread)) /* no other thread adds to the stream */
                store_relaxed(&stream->is_touched, 0);
        if (!is_mine_alone(stream))
                return;
        lock_take(&device->lock);
        device_empty(device, &(struct emptied){ &stream, .count = 1, .end_ns = end_ns });
        lock_drop(&device->lock);
}

void stream_told(struct time_stream *stream, uint64_t began_ns)
{
        told(stream, blocked_until_ns(began_ns, clock_now_ns()));
}

void stream_told_event(uint64_t began_ns)
{
        struct time_stream *stream = credit_here.of;
        uint64_t end_ns = blocked_until_ns(began_ns, clock_now_ns());
        bool is_over;

        if (!stream || !end_ns)
                return;
        stream->device->driver->relax(true);
        is_over = !stream->device->driver->is_unseen(stream) && !stream_is_parked(stream) &&
                  stream_is_empty(stream);
        stream->device->driver->relax(false);
        if (is_over)
                told(stream, end_ns);
}

/* What streams_told() and streams_end() tell about a context. */
struct telling {
        uint64_t context;
        uint64_t began_ns;
        /* all streams of the context are empty; else only those to which only this thread
         * submits */
        bool is_over;
};

static bool is_told(struct time_stream *stream, const struct telling *telling)
{
        uint32_t busy = STREAM_BUSY;

        if (stream->context != telling->context)
                return false;
        return telling->is_over ? cas_acq_rel(&stream->work, &busy, STREAM_ASKED)
                                : is_mine_alone(stream);
}

/* Notes empty streams of the context, up to TIME_LOOK_STREAMS. Returns true if there may be
 * more. The list of busy streams shrinks as streams are removed. */
static bool tell_device(struct time_device *device, const struct telling *telling)
{
        struct time_stream *stream[TIME_LOOK_STREAMS];
        unsigned count = 0;
        uint64_t now_ns = clock_now_ns();

        lock_take(&device->lock);
        for (uint32_t i = 0; i < device->busy_count && count < TIME_LOOK_STREAMS; i++) {
                if (is_told(device->busy[i], telling))
                        stream[count++] = device->busy[i];
        }
        device_empty(device,
                     &(struct emptied){ .stream = stream,
                                        .count = count,
                                        .end_ns = blocked_until_ns(telling->began_ns, now_ns) });
        lock_drop(&device->lock);
        return count == TIME_LOOK_STREAMS;
}

static void tell_devices(const struct telling *telling)
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct time_device *device = device_at(i);

                while (load_acquire(&device->is_ready) && tell_device(device, telling))
                        ;
        }
}

void streams_told(uint64_t context, uint64_t began_ns)
{
        gate_return_credit();
        tell_devices(&(struct telling){ context, began_ns, false });
}

/* -- The end of a stream ---------------------------------------------------------------------- */

/* Makes the stream's key invalid; every credit for it ends first. The caller holds streams.lock,
 * and either holds the stream's lock or has stopped all looks. */
static void invalidate_stream(struct time_stream *stream, void *end_marker)
{
        add_acq_rel(&stream->device->epoch, 1);
        store_relaxed(&stream->end_marker, end_marker);
        store_release(&stream->is_gone, 1);
        store_release(&stream->key, KEY_GONE);
}

void stream_forget(struct time_stream *stream)
{
        void *end_marker;
        bool is_busy;

        /* a copy still in flight counts from now on like a submission */
        if (swap_acq_rel(&stream->is_touched, 0))
                stream_use(stream, clock_now_ns());
        lock_take(&stream->lock);
        is_busy =
                load_acquire(&stream->work) != STREAM_EMPTY && !load_relaxed(&stream->is_captured);
        end_marker = is_busy ? stream->device->driver->record(stream) : NULL;
        lock_take(&streams.lock);
        invalidate_stream(stream, end_marker);
        lock_drop(&streams.lock);
        lock_drop(&stream->lock);
}

/* -- The end of a context ---------------------------------------------------------------------- */

static void stop_looks(void)
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                device_stop_looks(device_at(i));
}

static void resume_looks(void)
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                device_resume_looks(device_at(i));
}

/* The `marking` lock of the first device lets only one context end at a time. */
void context_hold(uint64_t context)
{
        gate_return_credit();
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                lock_take(&device_at(i)->marking);
        stop_looks();
        store_release(&streams.ending, context ? context : EVERY_CONTEXT);
        resume_looks();
}

void context_resume(void)
{
        store_release(&streams.ending, 0);
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                lock_drop(&device_at(i)->marking);
}

bool stream_is_ending(const struct time_stream *stream)
{
        uint64_t ending = load_acquire(&streams.ending);

        return ending && (ending == EVERY_CONTEXT || stream->context == ending);
}

/* Drops the round markers of a context's streams: their rounds complete without them. */
static void forget_markers(struct time_device *device, uint64_t context)
{
        struct time_marker *marker = device->marker[0];

        lock_take(&device->lock);
        for (unsigned i = 0; i < WINDOW_ROUNDS * TIME_ROUND_MARKERS; i++) {
                if (!marker[i].marker || marker[i].stream->context != context)
                        continue;
                marker[i].marker = NULL;
                add_relaxed(&marker[i].stream->markers, -1u);
        }
        lock_drop(&device->lock);
}

/* Forgets the context's streams. Entries are not reused meanwhile, so each keeps its stream. */
static void forget_all(uint64_t context)
{
        lock_take(&streams.lock);
        for (uint32_t i = 0; i < TIME_STREAMS; i++) {
                struct time_stream *stream = &streams.stream[i];
                uint64_t key = load_relaxed(&stream->key);

                if (key && key != KEY_GONE && stream->context == context)
                        invalidate_stream(stream, NULL);
        }
        lock_drop(&streams.lock);
}

/* Forgets our events in the context's streams, including destroyed ones: the events are gone
 * with the context. */
static void lose_markers(uint64_t context)
{
        lock_take(&streams.lock);
        for (uint32_t i = 0; i < TIME_STREAMS; i++) {
                struct time_stream *stream = &streams.stream[i];

                if (!load_acquire(&stream->key) || stream->context != context)
                        continue;
                store_relaxed(&stream->is_touched, 0);
                stream_park_lose(stream);
                store_relaxed(&stream->end_marker, NULL);
        }
        lock_drop(&streams.lock);
}

void streams_end(uint64_t context, uint64_t began_ns)
{
        stop_looks();
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                forget_markers(device_at(i), context);
        lose_markers(context);
        tell_devices(&(struct telling){ context, began_ns, true });
        forget_all(context);
        resume_looks();
}
