/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See launch.h. How a passage decides where its markers go:
 *
 *   a marker of the lane is still to come    the stream was never idle since: one more, before the
 *                                            launch, measures all launches in between
 *   else, and the stream is busy             the same, if the terms are to be kept exactly and no
 *                                            other lane works: it was idle since the marker at
 *                                            most; else a marker before the launch begins anew
 *   else, the stream is idle                 what is between goes unmeasured; a marker before and
 *                                            one after the launch measure it alone
 *
 * Where the lane is broken (pause.h) a marker before the launch begins anew, whatever is to come,
 * and one after it measures it alone, so that work between waits teaches what it takes.
 *
 * How many launches go from one passage to the next, and how it waits: scene.c.
 */
#include "shim/cuda/launch.h"

#include <stddef.h>

#include "common/clock.h"
#include "interpose/gate.h"
#include "shim/cuda/ask.h"
#include "shim/cuda/burst.h"
#include "shim/cuda/credits.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"
#include "shim/cuda/scene.h"
#include "shim/helper.h"

/* It is measured alone whatever comes after it. */
static bool must_end(const struct passage *passage, const struct scene *scene)
{
        return passage->what || scene->expected.is_unknown || scene->is_mixed || passage->is_alone;
}

/* Those since the newest marker are measured, and perhaps the launch, if there is room. */
static void end_since(struct passage *passage, const struct scene *scene)
{
        struct lane *lane = scene->lane;
        bool is_unknown = scene->expected.is_unknown;
        bool is_worth = passage->what || is_unknown ? lane_has_room(lane) : lane_is_worth_one(lane);

        if (is_worth && lane_mark_since(lane))
                passage->ends = must_end(passage, scene) && (is_unknown || lane_has_room(lane));
}

/* Before the launch; the lane is held. */
static void place_markers(struct passage *passage, const struct scene *scene)
{
        struct lane *lane = scene->lane;
        bool is_idle = !scene->is_busy && !scene->is_pending;
        bool is_open = burst_is_open(&scene->was, lane);
        bool is_left = lane->timeline && !burst_is_measured(lane, is_open);

        passage->is_alone = lane->is_picked && lane->wary;
        if (is_left && !scene->is_broken && !must_end(passage, scene))
                return;
        if (is_left)
                lane_leave_part(lane);
        if (scene_can_end(scene)) {
                end_since(passage, scene);
                return;
        }
        if (!lane->timeline) {
                lane_begin_untimed(lane);
                return;
        }
        if (is_idle)
                lane_note_idle(lane);
        if (!lane_has_room(lane) || !lane_mark(lane, NULL))
                return;
        lane_leave_since(lane);
        passage->is_first = is_idle;
        passage->is_drawn = is_idle && lane->is_drawing && !lane->has_bursts &&
                            !scene->expected.is_own && credit_drawn(&scene->was) == (uintptr_t)lane;
        passage->ends = (!is_left && (is_idle || scene->is_broken)) || must_end(passage, scene);
}

static void give_back_rest(struct passage *passage)
{
        admit_refund(&load_relaxed(&passage->lane->work)->admit,
                     (passage->pieces - 1) * passage->piece_ns, clock_now_ns());
        passage->pieces = 1;
}

static void note_granted(const struct scene *scene, uint64_t granted_ns)
{
        struct work *work = scene->work;
        uint64_t now_ns = clock_now_ns();

        store_release(&work->busy_until_ns,
                      now_ns + load_relaxed(&work->in_flight_ns) + granted_ns);
        admit_note_done(&work->admit,
                        scene_is_known(scene) && !scene->expected.is_unknown && !scene->is_busy
                                ? now_ns + scene_left_ns(scene, now_ns) + granted_ns
                                : 0);
        admit_note_active(&work->admit, now_ns);
        helper_kick(lanes_tend);
}

static void pass_strictly(struct passage *passage, const struct way *way, struct scene scene)
{
        struct admit_answer answer;

        if (may_be_capturing(way->stream))
                return;
        if (!scene_find(&scene, way))
                return;
        scene_note_lane(&scene, clock_now_ns());
        answer = scene_pass(&scene, way);
        /* Another stream's by now: what it is thought to take was paid, and is left at that. */
        if (scene.is_held || lane_is_of(scene.lane, scene.context, way->stream))
                passage->lane = scene.lane;
        passage->is_held = scene.is_held;
        passage->piece_ns = scene.expected.estimate.mean_ns;
        passage->what = scene.expected.is_own ? way->what : 0;
        passage->is_unknown = scene.expected.is_unknown;
        passage->is_any_work = scene.is_blocked && scene.is_escaping &&
                               (scene.expected.is_unknown || scene.expected.is_own);
        passage->pieces = answer.pieces;
        passage->turn = answer.terms.turn;
        if (scene.is_held) {
                place_markers(passage, &scene);
                if (passage->is_alone)
                        give_back_rest(passage);
                scene.lane->is_drawing = scene.is_drawing;
        }
        note_granted(&scene, answer.pieces * scene.expected.estimate.mean_ns);
}

/* What it launched elsewhere ends there, if there is a cap to be kept. */
static void leave_lane(CUstream stream)
{
        const struct lane *lane = (const struct lane *)(uintptr_t)credit_here.lane;
        struct terms terms;

        if (!lane || load_acquire(&lane->key) == stream_key(stream))
                return;
        terms = admit_terms(&load_relaxed(&lane->work)->admit, clock_now_ns());
        if (!terms_are_loose(&terms))
                burst_end();
}

void passage_begin(struct passage *ret, const struct way *way)
{
        struct scene scene = { .was = credit_here };
        struct relaxed was;
        struct terms terms;
        struct work *work;
        CUcontext context;

        *ret = (struct passage){ .key = way->key, .is_compound = way->is_compound };
        gate_pass();
        if (way->key == KEY_NEVER && credit_here.is_any && credit_spend(&credit_here, 0, 0))
                return;
        leave_lane(way->stream);
        credit_return();
        front_start();
        if (session_state() != SESSION_ACTIVE) {
                if (session_state() == SESSION_NONE)
                        credit_for_ever();
                return;
        }
        context = context_of_stream(way->stream);
        work = context ? work_of(place_of_stream(way->stream).row) : NULL;
        if (!work)
                return;
        ret->context = key_of(context);
        ret->gate_seen = credit_gate_seen(work->admit.limits);
        terms = admit_terms(&work->admit, clock_now_ns());
        ret->turn = terms.turn;
        if (!terms_are_strict(&terms)) {
                if (way->key != KEY_NEVER)
                        credit_open(ret, &work->admit);
                return;
        }
        scene.context = context;
        scene.work = work;
        scene.is_loose = terms_are_loose(&terms);
        scene.is_leased = terms.mode != PAGE_MODE_FREE;
        was = relax();
        pass_strictly(ret, way, scene);
        unrelax(was);
}

/* The driver did it: a marker, or it counts as unmarked. */
static void passage_count(const struct passage *passage)
{
        struct lane *lane = passage->lane;
        struct marker end = { .pieces = 1,
                              .paid_ns = passage->piece_ns,
                              .what = passage->what,
                              .is_compound = passage->is_compound,
                              .is_unknown = passage->is_unknown,
                              .is_drawn = passage->is_drawn };
        bool is_own = passage->what && !passage->is_unknown;
        struct launched alone = { .pieces = 1,
                                  .paid_ns = passage->piece_ns,
                                  .own = is_own ? 1 : 0,
                                  .own_ns = is_own ? passage->piece_ns : 0 };
        struct relaxed was = { 0 };

        if (passage->is_first)
                end.lead_ns = lane_lead_ns(lane);
        if (passage->ends)
                was = relax();
        if (!passage->ends || !lane_mark(lane, &end))
                lane_count(lane, &alone);
        unrelax(was);
        credit_grant(passage);
}

CUresult passage_end(struct passage *passage, CUresult rc)
{
        struct lane *lane = passage->lane;

        if (lane && rc == CUDA_SUCCESS)
                passage_count(passage);
        else if (lane)
                admit_refund(&load_relaxed(&lane->work)->admit, passage->pieces * passage->piece_ns,
                             clock_now_ns());
        if (passage->is_held)
                lane_drop(lane);
        return rc;
}
