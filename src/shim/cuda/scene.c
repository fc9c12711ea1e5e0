/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See scene.h.
 *
 * Where a launch is measured alone (launch.c) the next go unmeasured. In programs that wait for
 * each they are a random number, so that measuring costs little and is not in step with the
 * program; the launch that is measured then is one picked at random, and they are charged what it
 * took, each of them. So over many the sum is right, whatever the program mixes and however the
 * numbers change. (An average of those measured last would not do: while it is low the numbers are
 * high.) In programs that do not wait they are few at first, and more as the stream fills, so that
 * the next passage comes while a marker is still to come. Where several streams work at once few
 * do.
 *
 * What stands behind waits is not what is in flight for the others, nor are they for it. It has a
 * window of its own, which grows while the wait lasts: so a program that fills a stream before it
 * lets it go comes to that, what it puts there is no more than it might have had meanwhile, and it
 * pays as it goes.
 */
#include "shim/cuda/scene.h"

#include "common/clock.h"
#include "shim/cuda/credits.h"
#include "shim/cuda/real.h"
#include "shim/sample.h"

/* A launch takes the host no longer, as a rule. */
#define LAUNCH_NS UINT64_C(4000)
/* Then so much goes unmarked at a time. */
#define MIXED_PIECES_NS UINT64_C(100000)
/* Launches of unknown length in flight. */
#define UNKNOWN_MARKERS 2u
/* Behind a wait that lasts there may be so much, at most, as if it could run. */
#define STANDING_MOST_NS UINT64_C(100000000)
/* Nothing moved for so long, and for so many times what is in flight should take. */
#define QUIET_NS UINT64_C(50000000)
/* For one more launch of unknown length behind others of which nothing is known either. */
#define QUIET_UNKNOWN_NS UINT64_C(2000000000)
#define QUIET_TIMES 4u
#define QUIET_MOST_NS UINT64_C(60000000000)
#define QUIET_DOUBLES 4u
#define ESCAPE_DOUBLES 8u

/* A marker that is to be placed behind them measures them if the one before them is still to come
 * then: no more than can be launched by the time at which it is passed. Under a lease the scheduler
 * has the windows of others to keep, too, so few passages count for more. `left_ns` is in flight.
 */
static uint32_t pieces_measured(struct scene *scene, uint64_t mean_ns, uint64_t left_ns)
{
        uint32_t bits = scene->is_leased ? SAMPLE_BITS : scene->lane->gap_bits;
        uint64_t gap = sample_mean(mean_ns, scene->lane->longest_ns), in_time = left_ns / LAUNCH_NS;
        /* The first of them is in flight then; it may be much shorter than the mean. */
        uint64_t first = mean_ns / (4 * LAUNCH_NS);
        uint64_t most = first > 1u << bits ? first : 1u << bits;
        uint32_t pieces;

        if (scene->is_leased && (scene->is_pending || scene->is_busy))
                return ADMIT_PIECES;
        pieces = sample_gap(gap < most ? gap : most);
        scene->is_drawing = !scene->is_pending;
        if (!scene->is_pending || in_time <= pieces)
                return pieces;
        return in_time < ADMIT_PIECES ? (uint32_t)in_time : ADMIT_PIECES;
}

/* How many may go before the next passage. */
static uint32_t pieces_ahead(struct scene *scene, const struct way *way, uint64_t left_ns)
{
        uint64_t mean_ns = scene->expected.estimate.mean_ns ? scene->expected.estimate.mean_ns : 1;

        if (way->key == KEY_NEVER || scene->expected.is_own || scene->expected.is_unknown ||
            !scene->is_held || !credit_may_be_granted())
                return 1;
        if (scene->is_mixed)
                return (uint32_t)(MIXED_PIECES_NS / mean_ns) + 1;
        if (!scene->lane->timeline)
                return ADMIT_PIECES;
        if (scene->lane
                    ->has_bursts) /* its markers do not wait for a passage; other processes may */
                return (uint32_t)(SAMPLE_NS / mean_ns) + 1;
        return pieces_measured(scene, mean_ns, left_ns);
}

/* The launches since the last passage can be measured, or they cannot: the next are fewer, or more.
 * So who keeps its stream full is measured whole, and who does not pays for few markers. */
static void note_gap(const struct scene *scene)
{
        struct lane *lane = scene->lane;

        if (!scene->is_held)
                return;
        if (!scene->is_pending)
                lane->gap_bits =
                        lane->gap_bits + 2 < SAMPLE_BITS ? lane->gap_bits + 2 : SAMPLE_BITS;
        else if (lane->gap_bits)
                lane->gap_bits--;
}

/* Few while little was measured: one value alone may be wrong. */
static uint32_t most_pieces(struct scene *scene, const struct way *way, uint64_t left_ns)
{
        uint32_t pieces = pieces_ahead(scene, way, left_ns);
        uint32_t samples = scene->lane->piece.samples;
        uint32_t most = samples < ESTIMATE_FULL ? 1u << samples : ADMIT_PIECES;

        return pieces < most ? pieces : most;
}

/* Expected of what is in flight with this launch: either all that can run, or all that stands
 * behind waits. */
static uint64_t scene_marked_ns(const struct scene *scene)
{
        uint64_t all_ns = load_relaxed(&scene->work->in_flight_ns);
        uint64_t standing_ns = scene->standing.marked_ns;

        if (scene->is_blocked)
                return standing_ns;
        return all_ns > standing_ns ? all_ns - standing_ns : 0;
}

/* Also what was launched behind the last marker, if that may be running. What stands behind waits
 * fills a window of its own: it is not in the way of what can run. */
static uint64_t scene_in_flight_ns(const struct scene *scene)
{
        uint64_t marked_ns = scene_marked_ns(scene);

        if (scene->is_blocked)
                return marked_ns + scene->standing.since_ns;
        return scene->is_pending || scene->is_busy
                       ? marked_ns + load_relaxed(&scene->lane->since_ns)
                       : marked_ns;
}

/* The same kernel is under way, and may be done soon: not if all there is stands behind waits. */
static bool is_one_to_tell(const struct scene *scene)
{
        return scene->expected.is_pending && scene_marked_ns(scene);
}

/* The window is full, whatever the sums say: what is in flight takes longer than was thought. */
static bool is_overdue(const struct scene *scene, uint64_t target_ns, uint64_t now_ns)
{
        uint64_t placed_ns = scene->is_held ? lane_oldest_ns(scene->lane) : 0;

        /* Somebody else is at the lane: what may take anything does not go past him unseen. */
        if (!scene->is_held)
                return scene->expected.is_unknown && scene_marked_ns(scene);
        if (!scene->lane->timeline)
                return scene->is_busy;
        if (scene->expected.is_unknown &&
            (is_one_to_tell(scene) || lane_unknown(scene->lane) >= UNKNOWN_MARKERS ||
             !lane_has_room(scene->lane)))
                return true;
        return !scene->is_blocked && placed_ns && now_ns > placed_ns &&
               now_ns - placed_ns > 2 * target_ns;
}

bool scene_find(struct scene *scene, const struct way *way)
{
        struct lane *lane = lane_await(scene->context, way->stream, scene->work);

        if (lane)
                scene->lane = lane;
        return lane != NULL;
}

static void scene_look(struct scene *scene, const struct way *way)
{
        struct lane *lane = scene->lane;

        scene->is_pending = scene->is_busy = false;
        scene->is_held = lane_try_of(lane, scene->context, way->stream);
        if (scene->is_held) {
                lane_reap(lane);
                scene->is_pending = lane_is_pending(lane);
                scene->is_busy = !scene->is_pending &&
                                 real.cuStreamQuery(way->stream) == CUDA_ERROR_NOT_READY;
                lane_look_untimed(lane, !scene->is_busy);
        }
        scene->is_broken = load_acquire(&lane->broken) != LANE_WHOLE;
        scene->is_blocked = load_relaxed(&lane->blocked_at_ns) != 0;
        scene->standing = lanes_standing(scene->work);
        scene->expected = lane_expect(lane, way->what, way->is_compound);
}

void scene_note_lane(struct scene *scene, uint64_t now_ns)
{
        struct work *work = scene->work;
        uint64_t lane = (uintptr_t)scene->lane;

        store_relaxed(&scene->lane->used_at_ns, now_ns);
        if (load_relaxed(&work->lanes_used) != lane) {
                if (load_relaxed(&work->lanes_used))
                        store_relaxed(&work->mixed_at_ns, now_ns);
                store_relaxed(&work->lanes_used, lane);
        }
        scene->is_mixed = !scene->is_loose && work_is_mixed(work, now_ns);
}

/* How long nothing may move before it looks stuck: much longer than it should take. Who was wrong
 * once, and twice, waits longer the next time. */
static uint64_t quiet_limit_ns(const struct scene *scene, enum admit_reason reason,
                               uint64_t in_flight_ns)
{
        /* Another one is under way, whatever was thought of it when it was launched; or it may be,
         * where somebody else is at the lane. */
        uint64_t should_ns =
                in_flight_ns + (scene->expected.is_pending ? scene->expected.estimate.mean_ns : 0);
        bool may_be_pending = scene->is_pending || !scene->is_held;
        bool is_behind = scene->expected.is_unknown && may_be_pending;
        uint64_t times = QUIET_TIMES * should_ns;
        uint64_t limit_ns = (is_behind ? QUIET_UNKNOWN_NS : QUIET_NS)
                            << (scene->escapes < QUIET_DOUBLES ? scene->escapes : QUIET_DOUBLES);

        if (scene->is_blocked)
                return reason == ADMIT_WINDOW ? QUIET_NS : QUIET_UNKNOWN_NS;
        if (should_ns > QUIET_MOST_NS / QUIET_TIMES)
                return QUIET_MOST_NS;
        return times > limit_ns ? times : limit_ns;
}

/* What runs may be waiting for what stands here. Not while the bank is to be waited for: that fills
 * by itself. What stands behind a wait is not moved by what runs beside it. */
static bool must_escape(struct scene *scene, const struct admit_answer *answer, uint64_t now_ns)
{
        struct motion *motion = scene->is_blocked ? &scene->lane->motion : &scene->work->motion;
        uint64_t in_flight_ns = scene_marked_ns(scene);
        uint32_t settled = load_relaxed(&motion->settled);

        if (!in_flight_ns && answer->reason == ADMIT_WINDOW)
                in_flight_ns = scene->standing.marked_ns;
        /* Where no marker could be placed behind what may be a wait, nobody sees that it is one. */
        if (!scene->lane->timeline || scene->is_broken)
                in_flight_ns += load_relaxed(&scene->lane->since_ns);
        if (settled != load_relaxed(&motion->settled_at_escape))
                store_relaxed(&motion->escapes, 0);
        scene->escapes = load_relaxed(&motion->escapes);
        if (!in_flight_ns || settled != scene->settled || !scene->quiet_ns ||
            answer->reason == ADMIT_BANK) {
                scene->settled = settled;
                scene->quiet_ns = now_ns;
                return false;
        }
        if (answer->is_owing ||
            now_ns - scene->quiet_ns <= quiet_limit_ns(scene, answer->reason, in_flight_ns))
                return false;
        store_relaxed(&motion->settled_at_escape, settled);
        store_relaxed(&motion->escapes, scene->escapes + 1);
        return true;
}

/* A stream whose work cannot even begin is filled faster each time, and any with work that is known
 * to be short. Behind a wait as much of that as stands there already. */
static uint32_t escape_pieces(const struct scene *scene, const struct way *way)
{
        bool is_short = !scene->expected.is_unknown && !scene->expected.is_own;
        uint64_t mean_ns = scene->expected.estimate.mean_ns;
        uint32_t pieces = 1u << (scene->escapes < ESCAPE_DOUBLES ? scene->escapes : ESCAPE_DOUBLES);
        uint64_t as_much;

        if (!(scene->is_blocked || is_short) || way->key == KEY_NEVER || !credit_may_be_granted())
                return 1;
        if (!scene->is_blocked || !is_short)
                return pieces;
        as_much = scene_in_flight_ns(scene) / (mean_ns ? mean_ns : 1);
        if (as_much > ADMIT_PIECES)
                return ADMIT_PIECES;
        return as_much > pieces ? (uint32_t)as_much : pieces;
}

bool scene_can_end(const struct scene *scene)
{
        const struct lane *lane = scene->lane;

        if (scene->is_broken || (lane->timeline && !lane_is_whole(lane)))
                return false;
        return scene->is_pending ||
               (scene->is_busy && !scene->is_mixed && !scene->is_loose && lane->timeline &&
                lane->has_last && load_relaxed(&lane->since));
}

/* Waits as it was told. */
static void scene_wait(struct scene *scene, const struct admit_answer *answer)
{
        struct lane *lane = scene->lane;
        uint64_t began_ns;

        if (scene->is_held && scene_can_end(scene) && lane_has_room(lane))
                lane_mark_since(lane);
        if (scene->is_held && !scene->is_pending && !scene->is_busy)
                lane_leave_since(lane);
        if (scene->is_held)
                lane_drop(lane);
        scene->is_held = false;
        if (answer->reason != ADMIT_WINDOW && lanes_are_done(scene->work))
                admit_yield(&scene->work->admit, clock_now_ns());
        began_ns = clock_now_ns();
        clock_wait(answer->word, answer->seen, answer->deadline_ns);
        if (answer->reason != ADMIT_WINDOW)
                add_relaxed(&scene->work->gated_ns, clock_now_ns() - began_ns);
        lanes_reap(scene->work);
}

/* When the oldest of it began, at the earliest; 0: unknown. */
static uint64_t scene_begun_ns(const struct scene *scene, uint64_t now_ns)
{
        bool has_begun = scene->is_held && !scene->is_blocked;
        uint64_t placed_ns = has_begun ? lane_oldest_ns(scene->lane) : 0;
        int64_t passed_ns = load_relaxed(&scene->lane->last_ns);

        if (placed_ns && passed_ns > (int64_t)placed_ns && passed_ns <= (int64_t)now_ns)
                return (uint64_t)passed_ns;
        return placed_ns;
}

uint64_t scene_left_ns(const struct scene *scene, uint64_t now_ns)
{
        uint64_t in_flight_ns = scene_in_flight_ns(scene);
        uint64_t begun_ns = scene_begun_ns(scene, now_ns);

        if (!begun_ns)
                return in_flight_ns;
        return begun_ns + in_flight_ns > now_ns ? begun_ns + in_flight_ns - now_ns : 0;
}

/* When what is in flight should be done; beyond that, the later the less often. */
static uint64_t scene_look_ns(const struct scene *scene, uint64_t now_ns)
{
        uint64_t in_flight_ns = scene_in_flight_ns(scene);
        uint64_t left_ns = scene_left_ns(scene, now_ns);
        uint64_t begun_ns = scene_begun_ns(scene, now_ns);

        if (!begun_ns)
                return in_flight_ns / 8;
        return left_ns ? left_ns : (now_ns - begun_ns - in_flight_ns) / 4;
}

/* Of it, what fills the window. Behind a wait there may be as much as that has lasted: so much more
 * it is worth when it ends, and no more. Not where others wait for their turn, too. */
static uint64_t scene_filled_ns(const struct scene *scene, uint64_t now_ns)
{
        uint64_t in_flight_ns = scene_in_flight_ns(scene);
        uint64_t blocked_at_ns = load_relaxed(&scene->lane->blocked_at_ns);
        uint64_t lasted_ns = now_ns > blocked_at_ns ? now_ns - blocked_at_ns : 0;

        if (!scene->is_blocked || !blocked_at_ns || scene->is_leased)
                return in_flight_ns;
        if (lasted_ns > STANDING_MOST_NS)
                lasted_ns = STANDING_MOST_NS;
        return in_flight_ns > lasted_ns ? in_flight_ns - lasted_ns : 0;
}

bool scene_is_known(const struct scene *scene)
{
        const struct expected *expected = &scene->expected;

        return scene->is_held && !scene->is_mixed && !scene->is_blocked &&
               !scene->standing.marked_ns &&
               (scene->lane->piece.samples || (expected->is_own && !expected->is_unknown)) &&
               !lane_unknown(scene->lane);
}

struct admit_answer scene_pass(struct scene *scene, const struct way *way)
{
        struct admit_answer answer = { .reason = ADMIT_GRANTED };

        for (;;) {
                uint64_t now_ns = clock_now_ns();
                struct admit_ask ask = { 0 };
                uint64_t left_ns;

                scene_look(scene, way);
                scene->is_drawing = false;
                if (!scene->began_ns)
                        note_gap(scene);
                left_ns = scene_left_ns(scene, now_ns);
                ask = (struct admit_ask){
                        .piece_ns = scene->expected.estimate.mean_ns,
                        .careful_ns = estimate_careful_ns(&scene->expected.estimate),
                        .pieces = most_pieces(scene, way, left_ns),
                        .in_flight_ns = scene_filled_ns(scene, now_ns),
                        .left_ns = left_ns,
                        .look_ns = scene_look_ns(scene, now_ns),
                        .is_sure = scene->is_pending && scene_is_known(scene),
                        .is_stuck = is_overdue(scene, ADMIT_TARGET_NS, now_ns),
                        .waited_ns = scene->began_ns ? now_ns - scene->began_ns + 1 : 0,
                        .has_stood_back = scene->began_ns && answer.reason == ADMIT_TURN,
                };
                answer = admit_ask(&scene->work->admit, &ask, now_ns);
                if (answer.pieces)
                        break;
                if (must_escape(scene, &answer, now_ns)) {
                        scene->is_escaping = true;
                        ask.pieces = escape_pieces(scene, way);
                        admit_escape(&scene->work->admit, &ask, now_ns);
                        answer.pieces = ask.pieces;
                        break;
                }
                if (!scene->began_ns)
                        scene->began_ns = now_ns;
                scene_wait(scene, &answer);
                scene_find(scene, way);
        }
        if (scene->began_ns)
                admit_note_wait(&scene->work->admit, clock_now_ns() - scene->began_ns);
        return answer;
}
