/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See burst.h.
 */
#include "shim/cuda/burst.h"

#include "common/clock.h"
#include "shim/cuda/ask.h"
#include "shim/cuda/credits.h"
#include "shim/cuda/front.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"
#include "shim/sample.h"

/* Of those that are measured launch by launch, one in so many is. */
#define WARY_GAP 4u

bool burst_is_open(const struct credit *credit, const struct lane *lane)
{
        return credit->lane == (uintptr_t)lane &&
               (int32_t)credit_unspent(credit) != credit->at_wait;
}

/* Threads take turns at it. The lane is held. */
static bool is_shared(struct lane *lane)
{
        uint64_t now_ns = clock_now_ns();

        if (lane->thread && lane->thread != key_of(&credit_here))
                lane->shared_at_ns = now_ns;
        lane->thread = key_of(&credit_here);
        return now_ns - lane->shared_at_ns < WORK_MIXED_NS;
}

/* Then a thread's wait says nothing of what the others, or it itself, launched. */
static bool is_mixed(struct lane *lane)
{
        return work_is_mixed(load_relaxed(&lane->work), clock_now_ns()) || is_shared(lane);
}

/* What lies between the newest marker and now is not all the program's work. */
static bool is_broken(const struct lane *lane)
{
        return load_acquire(&lane->broken) != LANE_WHOLE;
}

static void have_none(struct lane *lane)
{
        lane->has_bursts = lane->is_measuring = lane->is_picked = false;
        lane_settle_bursts(lane);
}

/* Behind a pause the stream is measured anew in any case, if that is cheap: it tells of no others.
 */
static void begin(struct lane *lane)
{
        bool is_anew = is_broken(lane) && !lane->wary;

        lane->is_picked = !lane->bursts_to_skip && !is_anew;
        lane->is_measuring = lane->is_picked || is_anew;
        lane->burst += lane->is_picked;
        lane->left_ns = 0;
}

bool burst_is_measured(struct lane *lane, bool is_open)
{
        bool is_one = !is_mixed(lane);

        if (lane->has_bursts && !is_one)
                have_none(lane);
        if (!lane->has_bursts)
                return true;
        if (!is_open)
                begin(lane);
        else if (!lane->is_measuring && lane->left_ns + load_relaxed(&lane->since_ns) >
                                                2 * (SAMPLE_NS + lane->burst_mean_ns))
                have_none(lane); /* it does not wait any more */
        return lane->is_measuring || !lane->has_bursts;
}

/* Behind so many, from now on. */
static void pick(struct lane *lane)
{
        uint32_t samples = lane->piece.samples;
        uint64_t mean =
                lane->burst_mean_ns ? sample_mean(lane->burst_mean_ns, lane->longest_ns) : 1;
        uint64_t most = 1u << (samples < SAMPLE_BITS ? samples : SAMPLE_BITS);

        if (lane->wary && mean < WARY_GAP)
                mean = WARY_GAP;
        lane->bursts_to_skip = sample_gap(mean < most ? mean : most) - 1;
}

/* Default streams are those of the current context. */
static bool is_elsewhere(const struct lane *lane)
{
        bool is_default = lane->stream == CU_STREAM_LEGACY || lane->stream == CU_STREAM_PER_THREAD;

        return is_default && context_of_stream(lane->stream) != lane_context(lane);
}

/* The thread is relaxed. */
static void mark(struct lane *lane, bool is_last)
{
        bool is_pushed = is_elsewhere(lane);
        CUcontext popped;

        if (is_broken(lane) ||
            (is_pushed && real.cuCtxPushCurrent_v2(lane_context(lane)) != CUDA_SUCCESS))
                return;
        if (lane_has_room(lane) && !may_be_capturing(lane->stream))
                lane_mark_last(lane, is_last);
        if (is_pushed)
                real.cuCtxPopCurrent_v2(&popped);
}

/* What was not launched in several streams. */
static void end_measured(struct lane *lane)
{
        bool is_telling = lane->has_bursts && lane->is_picked;

        mark(lane, is_telling);
        lane->is_picked = false;
        lane->has_left = lane->has_left || load_relaxed(&lane->since);
        if (lane->has_bursts)
                lane_leave_since(lane);
        else
                lane_settle_since(lane);
        if (!lane->has_bursts || is_telling)
                pick(lane);
        lane->is_measuring = false;
        lane->has_bursts = true;
}

static void end_left(struct lane *lane)
{
        lane_leave_burst(lane);
        if (lane->bursts_to_skip)
                lane->bursts_to_skip--;
}

/* The lane is held; the thread is relaxed if the driver will be asked. */
static void end(struct lane *lane, struct credit *credit)
{
        if (is_mixed(lane)) {
                have_none(lane);
                if (lane_is_pending(lane) && load_relaxed(&lane->since))
                        mark(lane, false);
                credit_stop(credit); /* the next launch begins anew: the stream may be idle then */
                return;
        }
        lane_reap(lane);
        if (!lane->timeline)
                return;
        if (lane->has_bursts && !lane->is_measuring)
                end_left(lane);
        else
                end_measured(lane);
        if (!lane->bursts_to_skip)
                credit_stop(credit);
}

static bool will_ask(const struct lane *lane)
{
        return lane_is_pending(lane) || lane->is_measuring || !lane->has_bursts;
}

static bool is_of(const struct lane *lane, const struct credit *credit)
{
        return load_acquire(&lane->context) == credit->context;
}

void burst_close(struct credit *credit)
{
        struct lane *lane = (struct lane *)(uintptr_t)credit->lane;
        struct relaxed was = { 0 };

        if (!burst_is_open(credit, lane))
                return;
        credit_count(credit);
        if (!is_of(lane, credit) || !lane_try(lane))
                return;
        credit->at_wait = (int32_t)credit_unspent(credit);
        if (is_of(lane, credit)) {
                if (will_ask(lane))
                        was = relax();
                end(lane, credit);
                unrelax(was);
        }
        lane_drop(lane);
}
