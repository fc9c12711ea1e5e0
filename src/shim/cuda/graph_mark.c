/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/graph_mark.h"

#include "shim/cuda/graph.h"
#include "shim/cuda/real.h"

/* Under graphs_lock. */
static uint32_t mark_take(uint64_t key, uint32_t high)
{
        for (uint32_t i = 0; i < high; i++) {
                struct mark *mark = &state.marks[i];

                if (mark->key)
                        continue;
                mark->key = key;
                for (unsigned kind = 0; kind < RUN_KINDS; kind++)
                        mark->trail[kind].state = TRAIL_OVER;
                if (i == state.marks_high)
                        state.marks_high++;
                return i + 1;
        }
        return 0;
}

static uint32_t mark_find_free(uint64_t key, bool may_grow)
{
        uint32_t mark, high;

        lock_take(&state.graphs_lock);
        high = state.marks_high;
        if (may_grow && high < STATE_MARKS)
                high++;
        mark = mark_take(key, high);
        lock_drop(&state.graphs_lock);
        return mark;
}

/* Destroyed graphs are looked at before the list grows, so that it is no longer than what runs. */
uint32_t mark_make(uint64_t key)
{
        uint32_t mark = mark_find_free(key, false);

        if (!mark && load_relaxed(&state.marks_gone)) {
                graphs_look();
                mark = mark_find_free(key, false);
        }
        return mark ? mark : mark_find_free(key, true);
}

void mark_drop(uint32_t mark, uint64_t key)
{
        lock_take(&state.graphs_lock);
        if (mark && !table_find(&state.graphs, key))
                state.marks[mark - 1].key = 0;
        lock_drop(&state.graphs_lock);
}

/* In the stream's context. Legal while this thread, or another, captures. */
static CUevent event_make(CUstream stream, uint32_t owner)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        bool is_elsewhere = place_here().owner != owner;
        CUcontext context;
        CUevent event;
        CUresult rc;

        if (is_elsewhere && (real.cuStreamGetCtx(stream, &context) != CUDA_SUCCESS ||
                             real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS))
                return NULL;
        real.cuThreadExchangeStreamCaptureMode(&mode);
        rc = real.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
        real.cuThreadExchangeStreamCaptureMode(&mode);
        if (is_elsewhere)
                real.cuCtxPopCurrent_v2(&context);
        return rc == CUDA_SUCCESS ? event : NULL;
}

/* The graph ran in another context before: its event serves no more, and what it told is lost. */
static void event_replace(struct trail *trail, CUevent event, uint32_t owner)
{
        CUevent old;

        lock_take(&state.marks_lock);
        lock_take(&state.graphs_lock);
        old = (CUevent)(uintptr_t)trail->event;
        trail->event = key_of(event);
        trail->owner = owner;
        if (trail->state == TRAIL_PENDING)
                trail->state = TRAIL_LOST;
        lock_drop(&state.graphs_lock);
        if (old)
                real.cuEventDestroy_v2(old);
        lock_drop(&state.marks_lock);
}

static CUevent event_for(struct trail *trail, CUstream stream, uint32_t owner)
{
        CUevent event = event_make(stream, owner);
        bool is_first;

        lock_take(&state.graphs_lock);
        is_first = !trail->event;
        if (is_first) {
                trail->event = key_of(event);
                trail->owner = owner;
        }
        lock_drop(&state.graphs_lock);
        if (!is_first)
                event_replace(trail, event, owner);
        return event;
}

static struct mark *mark_of(const struct run *run)
{
        return run->mark ? &state.marks[run->mark - 1] : NULL;
}

void mark_begin(struct run *run, CUstream stream, uint32_t owner)
{
        struct mark *mark = mark_of(run);
        struct trail *trail;

        if (!mark)
                return;
        trail = &mark->trail[run->kind];
        run->stream = stream;
        run->event = NULL;
        lock_take(&state.graphs_lock);
        run->number = ++mark->runs;
        run->is_alone = ++mark->calls == 1;
        if (trail->event && trail->owner == owner)
                run->event = (CUevent)(uintptr_t)trail->event;
        lock_drop(&state.graphs_lock);
        if (!run->event && owner)
                run->event = event_for(trail, stream, owner);
}

void mark_end(const struct run *run, CUresult rc)
{
        struct mark *mark = mark_of(run);
        bool is_told;

        if (!mark)
                return;
        is_told = rc == CUDA_SUCCESS && run->event && run->is_alone &&
                  real.cuEventRecord(run->event, run->stream) == CUDA_SUCCESS;
        lock_take(&state.graphs_lock);
        mark->calls--;
        if (rc == CUDA_SUCCESS)
                mark->trail[run->kind].state =
                        is_told && mark->runs == run->number ? TRAIL_PENDING : TRAIL_LOST;
        lock_drop(&state.graphs_lock);
}

bool mark_is_over(const struct mark *mark)
{
        bool is_over = mark->calls == 0;

        for (unsigned kind = 0; kind < RUN_KINDS; kind++)
                is_over &= mark->trail[kind].state == TRAIL_OVER;
        return is_over;
}

/* What was begun while the driver was asked is not what it answered for. */
static void trail_ask(struct mark *mark, struct trail *trail)
{
        CUevent event;
        uint64_t runs;
        bool is_pending;

        lock_take(&state.graphs_lock);
        is_pending = mark->key && !mark->calls && trail->state == TRAIL_PENDING;
        event = (CUevent)(uintptr_t)trail->event;
        runs = mark->runs;
        lock_drop(&state.graphs_lock);
        if (!is_pending || real.cuEventQuery(event) != CUDA_SUCCESS)
                return;
        lock_take(&state.graphs_lock);
        if (mark->runs == runs)
                trail->state = TRAIL_OVER;
        lock_drop(&state.graphs_lock);
}

static uint32_t marks_high(void)
{
        uint32_t high;

        lock_take(&state.graphs_lock);
        high = state.marks_high;
        lock_drop(&state.graphs_lock);
        return high;
}

void marks_ask(void)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        uint32_t high = marks_high();

        real.cuThreadExchangeStreamCaptureMode(&mode);
        for (uint32_t i = 0; i < high; i++) {
                for (unsigned kind = 0; kind < RUN_KINDS; kind++)
                        trail_ask(&state.marks[i], &state.marks[i].trail[kind]);
        }
        real.cuThreadExchangeStreamCaptureMode(&mode);
}

/* Under graphs_lock. */
static bool is_promised(uint64_t key)
{
        struct graph_part *part = table_find(&state.graphs, key);

        while (part && !part->generation)
                part = table_next(part);
        return part != NULL;
}

/* Under graphs_lock. */
static void mark_end_parts(struct mark *mark)
{
        struct graph_part *part;

        while ((part = table_find(&state.graphs, mark->key))) {
                table_remove(&state.graphs, part);
                table_free(&state.graphs, part);
        }
        mark->key = 0;
        add_relaxed(&state.marks_gone, -1u);
}

void marks_bury(void)
{
        lock_take(&state.graphs_lock);
        for (uint32_t i = 0; load_relaxed(&state.marks_gone) && i < state.marks_high; i++) {
                struct mark *mark = &state.marks[i];

                if (mark->key % 2 && mark_is_over(mark) && !is_promised(mark->key))
                        mark_end_parts(mark);
        }
        lock_drop(&state.graphs_lock);
}

void marks_owner_gone(uint32_t owner)
{
        lock_take(&state.graphs_lock);
        for (uint32_t i = 0; owner && i < state.marks_high; i++) {
                for (unsigned kind = 0; kind < RUN_KINDS; kind++) {
                        struct trail *trail = &state.marks[i].trail[kind];

                        if (trail->owner != owner)
                                continue;
                        if (trail->state == TRAIL_PENDING)
                                trail->state = TRAIL_OVER;
                        trail->event = 0;
                        trail->owner = 0;
                }
        }
        lock_drop(&state.graphs_lock);
}
