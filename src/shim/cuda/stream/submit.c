/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See submit.h.
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

/* Of a default stream: the context in which it is that one, which is this thread's. */
static CUcontext context_here(void)
{
        CUcontext context = NULL;

        real.cuCtxGetCurrent(&context);
        return context;
}

/* CUDA Driver API, "Stream synchronization behavior". */
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

        /* every entry has work, or may have: one of them completes soon */
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

struct submit_target {
        CUcontext context;          /* of a default stream */
        struct time_device *device; /* NULL: of no session */
        struct time_stream *stream; /* NULL: not known yet */
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

/* True: credit was given. */
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

/* A recorded call touches no memory, so it does not wait for the end of a hold. */
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

/* A thread that goes on reads the gate once more, now that it counts as on its way. Nothing else
 * stops a thread without credit, and credit given meanwhile does not know the process's own gate
 * (hold.h). */
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
