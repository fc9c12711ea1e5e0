/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of the mover. All of it runs in the helper, or in the thread that ends the process and
 * does the helper's work. While a segment moves, no thread creates or frees a block, because all
 * wait at the gate. So the mover reads the tables without swap_lock.
 */
#include "shim/cuda/swap/move.h"

#include <stddef.h>

#include "common/clock.h"
#include "common/host_memory.h"
#include "shim/charge.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/stream/ask.h"
#include "shim/cuda/swap/segment.h"
#include "shim/helper.h"
#include "shim/hold.h"
#include "shim/room.h"
#include "shim/session.h"
#include "shim/time/fence.h"
#include "shim/time/time.h"

/* Time after which the ledger is read again: other processes change it without waking the
 * helper. */
#define LOOK_NS UINT64_C(5000000)
/* Time after which a failed step is repeated. */
#define PAUSE_NS UINT64_C(5000000)

static struct swap_mover *const mover = &swap_state.mover;

/* -- Choosing ---------------------------------------------------------------------------------- */

struct move_choice {
        struct swap_block *block;
        struct swap_segment *segment;
};

/* Whether a segment may be moved in the present direction. Out: it is on the card and its block is
 * not pinned. In: it is in the host and fits into `max_bytes`. */
static bool may_move(const struct swap_block *block, const struct swap_segment *segment,
                     uint64_t max_bytes)
{
        if (mover->is_inward)
                return segment->place == SEGMENT_AWAY && segment->bytes <= max_bytes;
        return segment->place == SEGMENT_HERE && !block->is_pinned;
}

static struct swap_segment *choose_in(const struct swap_block *block, uint64_t max_bytes)
{
        for (struct swap_segment *segment = block->segments; segment; segment = segment->next) {
                if (segment->link.key >= mover->at && may_move(block, segment, max_bytes))
                        return segment;
        }
        return NULL;
}

/* Chooses a segment to move, in the order of addresses from the last choice on, then once more from
 * the first address. `segment` is NULL if none may be moved. */
static struct move_choice choose_segment(uint64_t max_bytes)
{
        for (unsigned round = 0; round < 2; round++) {
                const struct address_span *span = spans_above(&swap_state.spans, mover->at);
                const struct address_span *end = swap_state.spans.span + swap_state.spans.count;

                for (; span && span < end; span++) {
                        struct swap_segment *segment = choose_in(span->of, max_bytes);

                        if (segment) {
                                mover->at = segment->link.key + segment->bytes;
                                return (struct move_choice){ span->of, segment };
                        }
                }
                mover->at = 0;
        }
        return (struct move_choice){ 0 };
}

/* -- One segment ------------------------------------------------------------------------------- */

static bool enter_context(const struct swap_channel *channel)
{
        return real.cuCtxPushCurrent_v2(channel->context) == CUDA_SUCCESS;
}

static void leave_context(void)
{
        CUcontext popped;

        real.cuCtxPopCurrent_v2(&popped);
}

/* Whether the segment has host memory; allocates it if needed. The segment's context is current. */
static bool has_host(struct swap_segment *segment)
{
        void *host = NULL;

        if (segment->host)
                return true;
        if (segment->bytes > host_memory_spare() ||
            real.cuMemHostAlloc(&host, segment->bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
                return false;
        segment->host = host;
        return true;
}

static CUevent next_event(const struct swap_channel *channel)
{
        return channel->event[(mover->first + mover->count) % STATE_MOVES];
}

/* Begins to copy a segment, and records the next event behind the copy. The channel's context is
 * current. */
static CUresult copy(const struct swap_channel *channel, const struct swap_segment *segment)
{
        CUresult rc = mover->is_inward ? real.cuMemcpyHtoDAsync_v2(segment->link.key, segment->host,
                                                                   segment->bytes, channel->stream)
                                       : real.cuMemcpyDtoHAsync_v2(segment->host, segment->link.key,
                                                                   segment->bytes, channel->stream);

        return rc == CUDA_SUCCESS ? real.cuEventRecord(next_event(channel), channel->stream) : rc;
}

/* Waits for a copy that may be in flight although the call for it failed. */
static void settle_copies(const struct swap_channel *channel)
{
        real.cuStreamSynchronize(channel->stream);
}

static void note_move(struct move_choice choice)
{
        mover->move[(mover->first + mover->count) % STATE_MOVES] =
                (struct swap_move){ choice.block, choice.segment,
                                    next_event(choice.block->channel) };
        mover->count++;
}

static bool begin_out(struct move_choice choice)
{
        struct swap_channel *channel = choice.block->channel;
        bool is_begun = enter_context(channel);

        if (!is_begun)
                return false;
        is_begun = has_host(choice.segment);
        if (is_begun && copy(channel, choice.segment) != CUDA_SUCCESS) {
                settle_copies(channel);
                is_begun = false;
        }
        leave_context();
        if (!is_begun)
                return false;
        charge_move_begin(choice.block->row);
        choice.segment->place = SEGMENT_LEAVES;
        note_move(choice);
        return true;
}

/* Undoes a move to the card: the segment is in the host as before. */
static void undo_in(struct move_choice choice)
{
        if (choice.segment->handle)
                segment_unmap(choice.segment);
        choice.segment->place = SEGMENT_AWAY;
        mover->away_bytes += choice.segment->bytes;
        charge_move_out(choice.block->row, choice.segment->bytes);
        charge_move_end(choice.block->row);
}

/* Whether the context has failed for good, so that every call in it returns its error. */
static bool is_dead(const struct swap_channel *channel)
{
        bool is_entered = enter_context(channel);
        CUresult rc = real.cuStreamQuery(channel->stream);

        if (is_entered)
                leave_context();
        return rc != CUDA_SUCCESS && rc != CUDA_ERROR_NOT_READY;
}

static CUresult bring_by(struct swap_channel *channel, struct move_choice choice)
{
        struct swap_segment *segment = choice.segment;
        CUresult rc = CUDA_SUCCESS;

        /* A handle is left if the driver refused to unmap the segment in undo_in(). */
        if (!segment->handle)
                rc = segment_map(segment, choice.block->device);
        if (rc == CUDA_SUCCESS)
                rc = segments_open(segment->link.key, segment->bytes, choice.block->device);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (!enter_context(channel))
                return CUDA_ERROR_INVALID_CONTEXT;
        rc = copy(channel, segment);
        if (rc != CUDA_SUCCESS)
                settle_copies(channel);
        leave_context();
        return rc;
}

/* Maps a segment and begins to copy it back. If its bytes can never be copied because the context
 * has failed, the segment counts as back: the program will get the context's error, and can read
 * none of the bytes. */
static bool bring(struct move_choice choice)
{
        struct swap_channel *channel = choice.block->channel;
        CUresult rc = bring_by(channel, choice);

        return rc == CUDA_SUCCESS || (rc != CUDA_ERROR_OUT_OF_MEMORY && is_dead(channel));
}

static bool begin_in(struct move_choice choice)
{
        struct swap_segment *segment = choice.segment;
        struct room_books books;

        charge_move_begin(choice.block->row);
        mover->away_bytes -= segment->bytes;
        charge_move_in(choice.block->row, segment->bytes);
        segment->place = SEGMENT_COMES;
        fence_seq_cst();
        books = room_read();
        if (room_excess(&books) || !bring(choice)) {
                undo_in(choice);
                return false;
        }
        note_move(choice);
        return true;
}

static void end_out(struct move_choice choice, bool is_copied)
{
        struct swap_segment *segment = choice.segment;

        if (is_copied && segment_unmap(segment) == CUDA_SUCCESS) {
                segment->place = SEGMENT_AWAY;
                mover->away_bytes += segment->bytes;
                charge_move_out(choice.block->row, segment->bytes);
        } else {
                segment->place = SEGMENT_HERE;
                mover->not_before_ns = clock_now_ns() + PAUSE_NS;
        }
        charge_move_end(choice.block->row);
}

static void end_in(struct move_choice choice, bool is_copied)
{
        if (is_copied) {
                choice.segment->place = SEGMENT_HERE;
                charge_move_end(choice.block->row);
        } else {
                undo_in(choice);
                mover->not_before_ns = clock_now_ns() + PAUSE_NS;
        }
}

/* Waits for the oldest copy in flight, and completes its move. */
static void end_next(void)
{
        struct swap_move move = mover->move[mover->first];
        struct move_choice choice = { move.block, move.segment };
        struct swap_channel *channel = move.block->channel;
        bool is_entered = enter_context(channel);
        bool is_copied = is_entered && real.cuEventSynchronize(move.event) == CUDA_SUCCESS;

        if (!is_copied && is_entered)
                settle_copies(channel);
        mover->first = (mover->first + 1) % STATE_MOVES;
        mover->count--;
        if (!mover->is_inward)
                end_out(choice, is_copied);
        else
                end_in(choice, is_copied || is_dead(channel));
        if (is_entered)
                leave_context();
}

/* -- Amounts ----------------------------------------------------------------------------------- */

static uint64_t leaving_bytes(void)
{
        uint64_t bytes = 0;

        for (unsigned i = 0; i < mover->count && !mover->is_inward; i++)
                bytes += mover->move[(mover->first + i) % STATE_MOVES].segment->bytes;
        return bytes;
}

/* What this process has to move in addition to the moves in flight, according to the page. */
struct task {
        uint64_t out_bytes; /* at least this much to the host */
        uint64_t in_bytes;  /* at most this much to the card */
};

static struct task find_task(void)
{
        struct room_books books = room_read();
        uint64_t excess_bytes = room_excess(&books), resident_bytes = room_resident(&books);
        uint64_t leaving = leaving_bytes();
        struct task task = { 0 };

        if (excess_bytes > leaving && drain_is_answered())
                task.out_bytes = excess_bytes - leaving;
        else if (!excess_bytes && mover->away_bytes)
                task.in_bytes = books.resident_bytes - resident_bytes;
        return task;
}

/* Begins one move. False: there is nothing more to begin now. */
static bool begin_next(const struct task *task)
{
        bool is_inward = task->in_bytes != 0;
        struct move_choice choice;
        bool is_begun;

        if ((!task->out_bytes && !task->in_bytes) || mover->count == STATE_MOVES ||
            (mover->count && is_inward != mover->is_inward) ||
            clock_now_ns() < mover->not_before_ns)
                return false;
        mover->is_inward = is_inward;
        choice = choose_segment(task->in_bytes);
        if (!choice.segment)
                return false;
        is_begun = is_inward ? begin_in(choice) : begin_out(choice);
        if (!is_begun)
                mover->not_before_ns = clock_now_ns() + PAUSE_NS;
        return is_begun;
}

/* -- Running ----------------------------------------------------------------------------------- */

/* Synchronises memory with the other threads. From here on the mover sees what they did to blocks.
 * They see what the mover did when they pass the gate after the next call of this function, because
 * they take swap_lock before they use a block. The gate and `calls` alone give no memory ordering
 * on processors that reorder loads. */
static void meet_threads(void)
{
        lock_take(&swap_state.swap_lock);
        lock_drop(&swap_state.swap_lock);
}

/* Closes the process's own gate. True: all submitted work has completed, and no thread submits
 * more. No thread has submitted anything since the answer to the hold if the session is still in
 * the same hold (each hold has its own number), and no thread is inside a driver call. False: the
 * own gate is open again. */
static bool stop_process(void)
{
        hold_shut_own();
        gate_end_credit();
        fence_all();
        if (drain_is_answered() && threads_are_out()) {
                meet_threads();
                return true;
        }
        hold_open_own();
        return false;
}

static bool is_to_begin(void)
{
        struct room_books books = room_read();

        return drain_is_answered() && room_excess(&books);
}

static uint64_t tend_moves(uint64_t now_ns)
{
        struct task task;

        if (!load_relaxed(&swap_state.swap_live))
                return CLOCK_NEVER;
        if (!hold_is_own()) {
                if (!is_to_begin()) /* a change of the gate or of the epoch wakes the helper */
                        return CLOCK_NEVER;
                if (now_ns < mover->not_before_ns || !stop_process())
                        return now_ns + LOOK_NS;
                relax();
        }
        if (!mover->count)
                room_reap();
        do
                task = find_task();
        while (begin_next(&task));
        if (mover->count) {
                end_next();
                return now_ns;
        }
        if (!mover->away_bytes) {
                meet_threads();
                hold_open_own();
        }
        return now_ns + LOOK_NS;
}

void swap_move_begin(void)
{
        helper_finish(hold_stands_at_end);
        tend_also(tend_moves);
}
