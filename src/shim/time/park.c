/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parked streams: while a stream waits for the host or for a word in memory, the time is not
 * billed; see time.h.
 *
 * One event is recorded before the wait and one behind it; between the two the stream does nothing.
 * If a stream has more waits than TIME_PARKS, the surplus waits count like work, and so does the
 * time between two of them. A wait during whose call another thread submits also counts like work,
 * because its position is unknown.
 *
 * Work that was admitted behind a wait runs when the wait ends, whatever the bucket holds then. So
 * while a stream is parked, at most one round is admitted behind the wait, plus what the cap has
 * allowed since.
 */
#include <stddef.h>

#include "common/clock.h"
#include "shim/time/credit.h"
#include "shim/time/fence.h"
#include "shim/time/time.h"

/* -- Which streams of a device wait ------------------------------------------------------------ */

static void list_parked(struct time_stream *stream)
{
        struct time_device *device = stream->device;
        uint32_t count;

        lock_take(&device->lock);
        count = load_relaxed(&device->waiting_count);
        if (count < TIME_WAITING) {
                device->waiting[count] = stream;
                store_relaxed(&device->waiting_count, count + 1);
        }
        lock_drop(&device->lock);
}

static void unlist_parked(struct time_stream *stream)
{
        struct time_device *device = stream->device;
        uint32_t count;

        lock_take(&device->lock);
        count = load_relaxed(&device->waiting_count);
        for (uint32_t i = 0; i < count; i++) {
                if (device->waiting[i] == stream) {
                        device->waiting[i] = device->waiting[--count];
                        store_relaxed(&device->waiting_count, count);
                }
        }
        lock_drop(&device->lock);
}

/* Sets `ret` to the waiting streams of the stream's context behind which the stream's work may
 * be ordered. Returns their number. */
static unsigned waiting_before(struct time_stream *stream, struct time_stream *ret[TIME_WAITING])
{
        enum stream_order other =
                stream->order == STREAM_DEFAULT ? STREAM_BLOCKING : STREAM_DEFAULT;
        struct time_device *device = stream->device;
        unsigned count = 0;

        lock_take(&device->lock);
        for (uint32_t i = 0; i < load_relaxed(&device->waiting_count); i++) {
                if (device->waiting[i]->order == other &&
                    device->waiting[i]->context == stream->context)
                        ret[count++] = device->waiting[i];
        }
        lock_drop(&device->lock);
        return count;
}

/* -- A stream's own waits ---------------------------------------------------------------------- */

static void drop_marker(struct time_stream *stream, void **marker)
{
        if (*marker)
                stream->device->driver->drop(stream, *marker);
        *marker = NULL;
}

/* Returns the number of waits in the stream. The caller of this function and of the following
 * ones holds `parking`. */
static uint32_t parks_of(const struct time_stream *stream)
{
        return load_relaxed(&stream->parks);
}

static void add_park(struct time_stream *stream, void *before, uint32_t grants)
{
        uint32_t parks = parks_of(stream);

        if (parks == TIME_PARKS || load_relaxed(&stream->parker)) {
                drop_marker(stream, &before);
                return;
        }
        store_relaxed(&stream->parker, credit_here.number);
        stream->parker_grants = grants;
        stream->park[parks] = (struct park){ before, NULL };
        store_relaxed(&stream->parks, parks + 1);
        if (!parks)
                list_parked(stream);
}

static void remove_park(struct time_stream *stream, uint32_t at)
{
        uint32_t parks = parks_of(stream) - 1;

        drop_marker(stream, &stream->park[at].before);
        drop_marker(stream, &stream->park[at].behind);
        store_relaxed(&stream->parks, parks);
        for (uint32_t i = at; i < parks; i++)
                stream->park[i] = stream->park[i + 1];
        if (!parks)
                unlist_parked(stream);
}

/* Records an event behind the stream's work. Returns false if the stream is captured. */
static bool put_event(struct time_stream *stream, void **ret)
{
        bool is_captured;

        lock_take(&stream->lock);
        is_captured = load_relaxed(&stream->is_captured);
        *ret = is_captured ? NULL : stream->device->driver->record(stream);
        lock_drop(&stream->lock);
        return !is_captured;
}

/* Makes every later submission to the stream ask for credit first. Returns false if a thread may
 * already be on its way to the driver. */
static bool keep_out(struct time_stream *stream)
{
        uint32_t user = load_acquire(&stream->user);

        return !user || user == credit_here.number || turn_end(&stream->device->epoch);
}

void stream_park_begin(struct time_stream *stream)
{
        uint32_t grants;
        void *before;

        if (!threads_join())
                return;
        /* the unused rest of the round is not part of the work before the wait */
        gate_return_credit();
        grants = load_acquire(&stream->grants);
        if (!keep_out(stream) || !put_event(stream, &before))
                return;
        lock_take(&stream->parking);
        add_park(stream, before, grants);
        lock_drop(&stream->parking);
}

/* Drops the wait if there is no event behind it, because its end would not be seen. So drops a
 * wait that made the stream part of a capture. A thread that gets credit after the check of
 * `grants` submits behind the event. */
void stream_park_end(struct time_stream *stream, bool is_there)
{
        void *behind = NULL;
        uint32_t parks;

        if (!credit_here.number || load_relaxed(&stream->parker) != credit_here.number)
                return;
        if (is_there)
                put_event(stream, &behind);
        fence_seq_cst();
        if (load_acquire(&stream->grants) != stream->parker_grants)
                drop_marker(stream, &behind);
        lock_take(&stream->parking);
        store_relaxed(&stream->parker, 0);
        parks = parks_of(stream);
        if (parks) {
                struct park *park = &stream->park[parks - 1];

                drop_marker(stream, &park->behind);
                park->behind = behind;
                if (!behind)
                        remove_park(stream, parks - 1);
        } else {
                drop_marker(stream, &behind);
        }
        lock_drop(&stream->parking);
}

void stream_park_lose(struct time_stream *stream)
{
        lock_take(&stream->parking);
        for (uint32_t i = 0; i < parks_of(stream); i++)
                stream->park[i] = (struct park){ 0 };
        lock_drop(&stream->parking);
        stream_park_forget(stream);
}

void stream_park_forget(struct time_stream *stream)
{
        lock_take(&stream->parking);
        while (parks_of(stream))
                remove_park(stream, parks_of(stream) - 1);
        lock_drop(&stream->parking);
}

static bool is_passed(struct time_stream *stream, void **marker)
{
        if (*marker && !stream->device->driver->is_passed(stream, *marker))
                return false;
        drop_marker(stream, marker);
        return true;
}

static bool update_parks(struct time_stream *stream)
{
        while (parks_of(stream)) {
                struct park *park = &stream->park[0];

                if (!park->behind || !is_passed(stream, &park->before))
                        return false;
                if (!is_passed(stream, &park->behind))
                        return true;
                remove_park(stream, 0);
        }
        return false;
}

static bool waits_itself(struct time_stream *stream)
{
        bool is_parked;

        lock_take(&stream->parking);
        is_parked = update_parks(stream);
        lock_drop(&stream->parking);
        return is_parked;
}

/* Whether the stream, or a stream behind which it is ordered, has reached a wait: all work
 * before that wait has completed. */
static bool waits(struct time_stream *stream)
{
        struct time_stream *other[TIME_WAITING];
        unsigned count;

        if (!load_relaxed(&stream->device->waiting_count))
                return false;
        if (waits_itself(stream))
                return true;
        count = stream->order != STREAM_UNORDERED ? waiting_before(stream, other) : 0;
        for (unsigned i = 0; i < count; i++) {
                if (waits_itself(other[i]))
                        return true;
        }
        return false;
}

bool stream_is_parked(struct time_stream *stream)
{
        bool is_parked = waits(stream);

        if (is_parked == (load_relaxed(&stream->parked_ns) != 0))
                return is_parked;
        lock_take(&stream->device->lock);
        store_relaxed(&stream->parked_ns, is_parked ? clock_now_ns() : 0);
        stream->queued_ns = 0;
        lock_drop(&stream->device->lock);
        return is_parked;
}

uint64_t stream_queue_due_ns(const struct time_stream *stream, uint64_t ns, uint64_t round_ns,
                             uint32_t cap_ppm)
{
        uint64_t parked_ns = load_relaxed(&stream->parked_ns);
        uint64_t queued_ns = stream->queued_ns + ns;

        if (!parked_ns || !stream->queued_ns || queued_ns <= round_ns)
                return 0;
        return parked_ns + (queued_ns - round_ns) * PAGE_WHOLE_PPM / cap_ppm;
}

bool streams_wait(void)
{
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (load_relaxed(&device_at(i)->waiting_count))
                        return true;
        }
        return false;
}
