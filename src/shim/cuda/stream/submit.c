/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow path of a submission: finds the stream's record, and obtains credit.
 */
#include "shim/cuda/stream/submit.h"

#include <stddef.h>

#include "common/clock.h"
#include "interpose/gate.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/stream/capture.h"
#include "shim/cuda/stream/time.h"
#include "shim/time/fence.h"
#include "shim/time/time.h"

/* Returns the thread's current context, to which a default stream belongs. */
static CUcontext context_here(void)
{
        CUcontext context = NULL;

        real.cuCtxGetCurrent(&context);
        return context;
}

/* Returns how the stream is ordered with the default stream (CUDA Driver API, "Stream
 * synchronization behavior"). */
static enum stream_order order_of(CUstream stream)
{
        unsigned int flags = CU_STREAM_NON_BLOCKING;

        if (stream == CU_STREAM_LEGACY)
                return STREAM_DEFAULT;
        if (stream == CU_STREAM_PER_THREAD)
                return STREAM_BLOCKING;
        if (!real.cuStreamGetFlags || real.cuStreamGetFlags(stream, &flags) != CUDA_SUCCESS)
                return STREAM_UNORDERED;
        return flags & CU_STREAM_NON_BLOCKING ? STREAM_UNORDERED : STREAM_BLOCKING;
}

static struct time_stream *make_stream(uint64_t key, CUstream stream, CUcontext context,
                                       struct time_device *device)
{
        struct stream_name name = { key, key_of(stream), key_of(context), order_of(stream),
                                    stream == CU_STREAM_PER_THREAD };
        struct time_stream *made = stream_make(&name, device);

        /* every record belongs to a stream that has work or may have; wait until one has none */
        while (!made) {
                device_look(device, clock_now_ns());
                streams_untouch(&cuda_time);
                clock_sleep_ns(FLIGHT_SLOT_NS);
                made = stream_make(&name, device);
        }
        return made;
}

void submission_mark(void)
{
        if (credit_here.of)
                stream_mark_end(credit_here.of);
}

/* Where a submission goes. */
struct submit_target {
        CUcontext context;          /* current context, for a default stream; else NULL */
        struct time_device *device; /* NULL: the device is not in a session */
        struct time_stream *stream; /* the stream's record; NULL: none yet */
        uint64_t key;
};

static struct submit_target find_target(CUstream stream)
{
        bool is_default = stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
        struct submit_target target = { .context = is_default ? context_here() : NULL };

        target.key = time_key(stream, target.context);
        target.stream = stream_find(target.key);
        target.device = target.stream ? target.stream->device
                                      : device_of(place_of_stream(stream).row, &cuda_time);
        return target;
}

static bool is_metered(const struct time_device *device)
{
        struct terms terms = account_terms(&device->account, clock_now_ns());

        return terms_are_metered(&terms);
}

static bool may_capture(CUstream stream)
{
        return captures_are_open() && may_be_capturing(stream);
}

/* Returns the record of the target stream; creates it if needed. */
static struct time_stream *stream_of(const struct submit_target *target, CUstream stream)
{
        CUcontext context;

        if (target->stream) {
                capture_ask_again(target->stream);
                return target->stream;
        }
        context = target->context ? target->context : context_of_stream(stream);
        return make_stream(target->key, stream, context, target->device);
}

struct time_stream *submission_stream(CUstream stream)
{
        struct submit_target target;

        front_start();
        if (session_state() != SESSION_ACTIVE)
                return NULL;
        target = find_target(stream);
        if (!target.device || !is_metered(target.device) || may_capture(stream))
                return NULL;
        return stream_of(&target, stream);
}

/* Obtains credit for the submission. True: the thread has credit. */
static bool obtain_credit(const struct submission *submission)
{
        struct submit_target target = find_target(submission->stream);

        if (!target.device)
                return false;
        if (!is_metered(target.device)) {
                gate_return_credit();
                gate_leave_open(&target.device->account, submission->key, key_of(target.context));
                return true;
        }
        if (may_capture(submission->stream)) {
                gate_return_credit();
                return false;
        }
        return gate_wait_turn(stream_of(&target, submission->stream),
                              &(struct gate_ask){ .key = submission->key,
                                                  .context = key_of(target.context),
                                                  .hint = submission->hint });
}

/* Waits at the gate and obtains credit. A captured or recorded call gives the device no work, so it
 * does not wait for the end of a hold. Returns as submission_wait(). */
static bool pass_submission(const struct submission *submission)
{
        bool is_again;

        if (!may_capture(submission->stream)) {
                streams_mark_in_hold();
                gate_pass();
        }
        front_start();
        threads_join();
        if (session_state() == SESSION_ACTIVE) {
                is_again = obtain_credit(submission);
        } else {
                is_again = session_state() == SESSION_NONE;
                if (is_again)
                        gate_leave_open_for_ever();
        }
        return is_again;
}

/* Once the thread counts as being inside a driver call, it reads the gate again. Otherwise nothing
 * would stop a thread without credit, and credit that was given meanwhile does not depend on the
 * process's own gate (hold.h). */
bool submission_wait(const struct submission *submission)
{
        bool is_again;

        if (gate_switch(submission->key))
                return true;
        do {
                credit_leave(&credit_here);
                is_again = pass_submission(submission);
                credit_enter(&credit_here);
        } while (gate_is_shut() && !may_capture(submission->stream));
        if (is_again && gate_is_shut()) {
                gate_return_credit();
                credit_here.left = 0;
                is_again = false;
        }
        return is_again;
}
