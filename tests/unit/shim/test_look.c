/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who puts something into a stream that is full stands there until much of it is done. What is in
 * flight is looked at meanwhile: a look that came late would not know what it missed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "shim/helper.h"
#include "shim/time/time.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HANG_SECONDS 60

static struct limits_page limits;
static struct slots_page slots;
static struct time_device device;
static struct time_stream stream;

/* -- A driver whose one stream is full --------------------------------------------------------- */

static _Atomic uint32_t is_recording, has_room;
static unsigned dropped, found_empty;
static _Atomic uint32_t is_ended, is_stopped, looks;
static const struct time_stream *recorded;
static bool is_marker_passed;
static int event;

static void *record(struct time_stream *in)
{
        recorded = in;
        store_release(&is_recording, 1);
        while (!load_acquire(&has_room))
                usleep(1000);
        return &event;
}

static bool is_never_unseen(const struct time_stream *unused)
{
        (void)unused;
        return false;
}

static bool never(struct time_stream *unused)
{
        (void)unused;
        add_acq_rel(&looks, 1);
        return false;
}

static bool is_passed(struct time_stream *unused, void *marker)
{
        (void)unused;
        return marker == &event && is_marker_passed;
}

static void drop(struct time_stream *unused, void *marker)
{
        (void)unused;
        dropped += marker == &event;
}

static void relax(bool is_relaxed)
{
        (void)is_relaxed;
}

static const struct time_driver driver = { .record = record,
                                           .is_passed = is_passed,
                                           .is_unseen = is_never_unseen,
                                           .is_empty = never,
                                           .drop = drop,
                                           .relax = relax };

void device_empty(struct time_device *unused, const struct emptied *emptied)
{
        (void)unused;
        found_empty += emptied->count;
}

static unsigned returned;

void gate_return_credit(void)
{
        returned++;
}

bool helper_runs(void)
{
        return true;
}

static bool is_ending;

bool stream_is_ending(const struct time_stream *unused)
{
        (void)unused;
        return is_ending;
}

struct time_device *device_at(unsigned index)
{
        (void)index;
        return &device;
}

/* -- Stories ----------------------------------------------------------------------------------- */

/* A round is full, and nothing was seen in flight yet. */
static int setup(void **state)
{
        alarm(HANG_SECONDS);
        limits = (struct limits_page){ .owner = PAGE_OWNER_DAEMON };
        slots.meter[0] = (struct page_meter){ 0 };
        device = (struct time_device){
                .account = { .limits = &limits,
                             .device = &limits.device[0],
                             .slots = &slots,
                             .meter = &slots.meter[0] },
                .driver = &driver,
                .is_ready = 1,
                .window = { .filling = { .units = 1 } },
                .busy_count = 1,
                .busy = { &stream },
        };
        stream = (struct time_stream){ .device = &device, .work = STREAM_BUSY };
        store_release(&is_recording, 0);
        store_release(&has_room, 0);
        dropped = found_empty = 0;
        is_marker_passed = is_ending = false;
        return 0;
}

static void *mark(void *unused)
{
        device_mark(&device, &stream);
        return unused;
}

static void *park(void *unused)
{
        stream_park_begin(&stream);
        return unused;
}

static pthread_t start(void *(*body)(void *))
{
        pthread_t thread;

        pthread_create(&thread, NULL, body, NULL);
        while (!load_acquire(&is_recording))
                usleep(1000);
        return thread;
}

static void end(pthread_t thread)
{
        store_release(&has_room, 1);
        pthread_join(thread, NULL);
}

static void the_end_of_a_round_does_not_hold_up_a_look(void **state)
{
        pthread_t thread = start(mark);

        device_look(&device, clock_now_ns());
        assert_true(device.flight.begin_ns);
        assert_int_equal(found_empty, 0);
        end(thread);
        assert_int_equal(device.window.count, 1);
        assert_int_equal(stream.markers, 1);
}

static void nor_does_it_keep_another_thread_there(void **state)
{
        pthread_t thread = start(mark);

        device_mark(&device, &stream);
        end(thread);
        assert_int_equal(device.window.count, 1);
}

static void nor_does_a_wait_that_is_put_into_the_stream(void **state)
{
        pthread_t thread = start(park);

        device_look(&device, clock_now_ns());
        assert_true(device.flight.begin_ns);
        assert_false(stream_is_parked(&stream));
        end(thread);
        assert_int_equal(stream.parks, 1);
}

/* Else it would count as work before the wait, and each of its kernels for less than it takes. */
static void what_is_left_of_a_round_is_given_back_before_a_wait(void **state)
{
        store_release(&has_room, 1);
        returned = 0;
        stream_park_begin(&stream);
        assert_int_equal(returned, 1);
}

/* Between its choice and its marker another thread may begin a capture, which that would end. */
static void only_who_submits_to_a_default_stream_puts_a_marker_there(void **state)
{
        static struct time_stream of_default;

        of_default = (struct time_stream){ .device = &device,
                                           .work = STREAM_BUSY,
                                           .order = STREAM_DEFAULT };
        device.busy[device.busy_count++] = &of_default;
        store_release(&has_room, 1);
        device_mark(&device, &stream);
        assert_ptr_equal(recorded, &stream);
        assert_int_equal(of_default.markers, 0);
        device.window.filling.units = 1;
        device_mark(&device, &of_default);
        assert_int_equal(of_default.markers, 1);
}

/* What comes after it belongs to another one. */
static void a_flight_that_ends_meanwhile_takes_the_round_with_it(void **state)
{
        pthread_t thread = start(mark);

        lock_take(&device.lock);
        window_clear(&device.window);
        device.window.filling.units = 2;
        lock_drop(&device.lock);
        end(thread);
        assert_int_equal(device.window.count, 0);
        assert_int_equal(device.window.filling.units, 2);
        assert_int_equal(stream.markers, 0);
        assert_int_equal(dropped, 1);
}

/* Before it is believed the stream is asked again. */
static void a_stream_that_is_gone_is_over_with_its_last_marker(void **state)
{
        stream.is_gone = 1;
        stream.end_marker = &event;
        device_look(&device, clock_now_ns());
        assert_int_equal(found_empty, 0);
        is_marker_passed = true;
        device_look(&device, clock_now_ns() + 1);
        assert_int_equal(found_empty, 1);
}

/* A driver may crash at what it is asked of a context that is being destroyed, which may take as
 * long as what is in flight there does, and as what waits there for somebody. */
static void a_stream_whose_context_ends_is_in_flight_and_is_not_asked(void **state)
{
        is_ending = is_marker_passed = true;
        device.waiting[0] = &stream;
        store_relaxed(&device.waiting_count, 1);
        stream.park[0] = (struct park){ .before = NULL, .behind = &stream };
        store_relaxed(&stream.parks, 1);
        store_release(&looks, 0);
        device_look(&device, clock_now_ns());
        assert_true(device.flight.begin_ns);
        assert_int_equal(found_empty, 0);
        assert_int_equal(load_acquire(&looks), 0);
}

#define HINT 7
#define UNITS 1000
#define LONG_UNITS 60000 /* 2.4 ms: over sooner, however busy the machine is */

static void begin_round_before_marker(uint32_t units, uint64_t ago_ns)
{
        store_relaxed(&window_weights[HINT], 0);
        device.window.round[0] = (struct window_round){ .units = units,
                                                        .samples = 1,
                                                        .sample = { { HINT, (uint16_t)units } },
                                                        .begin_ns = clock_now_ns() - ago_ns };
        device.window.count = 1;
        device.marker[0][0] = (struct time_marker){ .stream = &stream, .marker = &event };
        store_relaxed(&stream.markers, 1);
}

static void what_a_marker_ends_is_weighed(void **state)
{
        static int later;

        begin_round_before_marker(UNITS, 2 * UNITS * WINDOW_UNIT_NS);
        device.window.round[1] = (struct window_round){ .units = UNITS };
        device.window.count = 2;
        device.marker[1][0] = (struct time_marker){ .stream = &stream, .marker = &later };
        store_relaxed(&stream.markers, 2);
        is_marker_passed = true;
        device_look(&device, clock_now_ns());
        assert_int_equal(device.window.count, 1);
        assert_in_range(window_weight(HINT), 2 * UNITS, WINDOW_WEIGHT_MAX - 1);
}

/* When its marker passes is up to whom the stream waits for. */
static void what_stands_behind_a_wait_is_not(void **state)
{
        begin_round_before_marker(LONG_UNITS, LONG_UNITS * WINDOW_UNIT_NS / 2);
        device.waiting[0] = &stream;
        store_relaxed(&device.waiting_count, 1);
        stream.park[0] = (struct park){ .before = NULL, .behind = &event };
        store_relaxed(&stream.parks, 1);
        device_look(&device, clock_now_ns());
        assert_int_equal(device.window.count, 0);
        assert_int_equal(window_weight(HINT), WINDOW_WEIGHT_MAX);
}

static void *look_without_end(void *unused)
{
        while (!load_acquire(&is_ended))
                device_look(&device, CLOCK_NEVER);
        return unused;
}

/* Looks, as soon as they were stopped, and a while later. */
struct stopped {
        uint32_t looks, looks_later;
};

static void *stop_looks(void *ret)
{
        struct stopped *stopped = ret;

        device_stop_looks(&device);
        store_release(&is_stopped, 1);
        stopped->looks = load_acquire(&looks);
        usleep(100);
        stopped->looks_later = load_acquire(&looks);
        device_resume_looks(&device);
        return NULL;
}

/* A context that ends is held up by looks at it otherwise, and those by it, since they find nothing
 * over while a thread is in such a call: for ever, where a look takes longer than the pause. */
static void who_looks_without_a_pause_lets_others_in(void **state)
{
        pthread_t looker, other;

        store_release(&is_ended, 0);
        store_release(&looks, 0);
        pthread_create(&looker, NULL, look_without_end, NULL);
        for (unsigned i = 0; i < 100; i++) {
                struct stopped stopped = { 0 };
                uint32_t before;

                store_release(&is_stopped, 0);
                pthread_create(&other, NULL, stop_looks, &stopped);
                while (!load_acquire(&device.wanted) && !load_acquire(&is_stopped))
                        ;
                before = load_acquire(&looks);
                pthread_join(other, NULL);
                /* One that was under way, and one that had seen that nobody waits. */
                assert_true((int32_t)(stopped.looks - before) <= 2);
                assert_int_equal(stopped.looks_later, stopped.looks);
        }
        store_release(&is_ended, 1);
        pthread_join(looker, NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(who_looks_without_a_pause_lets_others_in, setup),
                cmocka_unit_test_setup(the_end_of_a_round_does_not_hold_up_a_look, setup),
                cmocka_unit_test_setup(nor_does_it_keep_another_thread_there, setup),
                cmocka_unit_test_setup(nor_does_a_wait_that_is_put_into_the_stream, setup),
                cmocka_unit_test_setup(what_is_left_of_a_round_is_given_back_before_a_wait, setup),
                cmocka_unit_test_setup(only_who_submits_to_a_default_stream_puts_a_marker_there,
                                       setup),
                cmocka_unit_test_setup(a_stream_that_is_gone_is_over_with_its_last_marker, setup),
                cmocka_unit_test_setup(a_stream_whose_context_ends_is_in_flight_and_is_not_asked,
                                       setup),
                cmocka_unit_test_setup(what_a_marker_ends_is_weighed, setup),
                cmocka_unit_test_setup(what_stands_behind_a_wait_is_not, setup),
                cmocka_unit_test_setup(a_flight_that_ends_meanwhile_takes_the_round_with_it, setup),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
