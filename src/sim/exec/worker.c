/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of a stream: takes commands out of the queue and executes them in order.
 *
 *      sleep until there is a command; wait until implicit barriers allow it;
 *      run it; count it as complete; wake the waiting threads
 *
 * Between commands that use the compute engine the stream keeps its seat, so that a backlog runs
 * without gaps; before a command that may block it leaves the seat. In a context with a sticky
 * error, or one that is being closed, commands complete without effect.
 */
#include "sim/exec/event.h"
#include "sim/exec/stream.h"
#include "sim/graph/program.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"
#include "sim/node/fault.h"
#include "sim/node/flights.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/* How long a waiting thread polls before it sleeps. Polling for longer than a wake-up costs is
 * useless. */
#define SPIN_NS 5000
/* Maximum sleep of a waiting thread in real time. All progress is announced, but the failure of a
 * context may not be, so the thread checks for one at this interval. In virtual time, only a loss
 * of the devices (setting lost=) may go unannounced. */
#define NAP_NS 20000000

static _Atomic uint32_t progress_word;
static _Atomic uint32_t progress_waiters;

void progress_announce(void)
{
        fence_seq_cst();
        if (!load_relaxed(&progress_waiters))
                return;
        add_acq_rel(&progress_word, 1);
        sim_wake(&progress_word, UINT32_MAX, REACH_PROCESS);
}

static uint64_t nap_end_ns(void)
{
        if (clock_authority() && !config_get()->lost_ns)
                return SIM_NEVER;
        return sim_now_ns() + NAP_NS;
}

void progress_wait(bool (*check)(void *argument), void *argument)
{
        uint64_t spin_end_ns;

        if (check(argument))
                return;
        spin_end_ns = sim_spin_end_ns(SPIN_NS);
        while (sim_now_ns() < spin_end_ns)
                if (check(argument))
                        return;
        add_acq_rel(&progress_waiters, 1);
        for (;;) {
                uint32_t seen = load_acquire(&progress_word);

                fence_seq_cst();
                if (check(argument))
                        break;
                sim_wait(&progress_word, seen, nap_end_ns(), REACH_PROCESS);
                if (config_get()->lost_ns)
                        loss_check();
        }
        add_acq_rel(&progress_waiters, (uint32_t)-1);
        sim_wake_up();
}

/* Waits for a command. False: the stream is closing and empty. */
static bool await_command(CUstream stream, uint64_t head)
{
        uint64_t spin_end_ns = sim_spin_end_ns(SPIN_NS);

        while (load_acquire(&stream->published) == head) {
                uint32_t seen;

                if (sim_now_ns() < spin_end_ns)
                        continue;
                seen = load_acquire(&stream->bell);
                store_relaxed(&stream->is_asleep, 1);
                fence_seq_cst();
                if (load_acquire(&stream->published) == head) {
                        if (load_acquire(&stream->is_closing))
                                return false;
                        sim_wait(&stream->bell, seen, SIM_NEVER, REACH_PROCESS);
                }
                store_relaxed(&stream->is_asleep, 0);
        }
        return true;
}

static bool is_dead(CUstream stream)
{
        return load_acquire(&stream->is_dropping) || load_acquire(&stream->context->error);
}

struct barrier {
        CUstream stream;
        uint64_t ticket;
        uint64_t *ready_ns;
};

static bool is_barrier_clear(void *argument)
{
        struct barrier *barrier = argument;

        return is_dead(barrier->stream) ||
               stream_is_clear(barrier->stream, barrier->ticket, barrier->ready_ns);
}

static void retire_command(CUstream stream, uint64_t head)
{
        store_release(&stream->head, head);
        store_release(&stream->completed, load_relaxed(&stream->completed) + 1);
        progress_announce();
}

bool command_is_work(const struct stream_command *command)
{
        const struct op_copy *copy = (const void *)(command + 1);

        return command->kind == COMMAND_LAUNCH || command->kind == COMMAND_SET ||
               command->kind == COMMAND_GRAPH ||
               (command->kind == COMMAND_COPY && op_copy_is_within(copy));
}

static bool uses_engine(const struct stream_command *command)
{
        const struct command_event *record = (const void *)(command + 1);

        return command_is_work(command) || (command->kind == COMMAND_RECORD && !record->cost_ns);
}

struct channel_turn {
        const struct exec_channel *channel;
        uint64_t number;
};

static bool is_turn(void *argument)
{
        const struct channel_turn *turn = argument;

        return channel_is_turn(turn->channel, turn->number);
}

/* Returns whether the command blocks its channel until it is complete. */
static bool holds_channel(const struct stream_command *command)
{
        return command->kind == COMMAND_WAIT || command->kind == COMMAND_MEMORY ||
               command->kind == COMMAND_HOST || command->kind == COMMAND_CALLBACK;
}

static void leave_engine(CUstream stream, struct exec_mark *mark)
{
        if (mark->is_on)
                place_off(&stream->exec->place, mark);
}

/* Waits until the earlier commands of the channel have started. */
static void await_channel(CUstream stream, const struct stream_command *command, struct op_run *run)
{
        struct channel_turn turn = { stream->channel, command->number };

        if (!stream->channel)
                return;
        if (!is_turn(&turn)) {
                leave_engine(stream, run->mark);
                progress_wait(is_turn, &turn);
        }
        if (load_relaxed(&stream->channel->begun_ns) > run->ready_ns)
                run->ready_ns = load_relaxed(&stream->channel->begun_ns);
}

static void pass_channel(CUstream stream, uint64_t begun_ns)
{
        if (!stream->channel)
                return;
        channel_pass(stream->channel, begun_ns);
        progress_announce();
}

static void serve_command(CUstream stream, struct stream_command *command, struct exec_mark *mark)
{
        struct op_run run = { stream->exec, mark, command->enqueued_ns };
        struct barrier barrier = { stream, command->ticket, &run.ready_ns };

        store_release(&stream->oldest, command->ticket);
        progress_announce();
        if (mark->end_ns > run.ready_ns)
                run.ready_ns = mark->end_ns;
        if (!uses_engine(command))
                leave_engine(stream, mark);
        if (!is_barrier_clear(&barrier)) {
                leave_engine(stream, mark);
                progress_wait(is_barrier_clear, &barrier);
        }
        await_channel(stream, command, &run);
        if (is_dead(stream)) {
                command_drop(command);
                pass_channel(stream, 0);
                return;
        }
        if (!holds_channel(command))
                pass_channel(stream, run.ready_ns);
        command_run(stream, &run, command);
        if (holds_channel(command))
                pass_channel(stream, run.ready_ns);
        if (run.ready_ns > mark->end_ns)
                mark->end_ns = run.ready_ns;
        store_release(&stream->end_ns, mark->end_ns);
}

/* Returns when the last command completed; the present time if the command was dropped. */
static uint64_t end_ns_of(CUstream stream, const struct exec_mark *mark)
{
        return is_dead(stream) ? sim_now_ns() : mark->end_ns;
}

/* Removes the stream from its context. If the context is being closed, exec_context_close() does
 * that and joins this thread. */
static void end_stream(CUstream stream)
{
        struct exec_context *exec = stream->exec;
        bool was_listed = false;

        pthread_mutex_lock(&exec->lock);
        for (CUstream *at = &exec->streams; *at && !was_listed; at = &(*at)->next) {
                if (*at == stream) {
                        *at = stream->next;
                        was_listed = true;
                        break;
                }
        }
        pthread_mutex_unlock(&exec->lock);
        if (!was_listed) {
                store_release(&stream->has_ended, 1);
                sim_wake(&stream->has_ended, 1, REACH_PROCESS);
                return;
        }
        pthread_detach(pthread_self());
        munmap(stream->ring, STREAM_RING_BYTES);
        stream->ring = NULL;
        stream_recycle(stream);
}

void *stream_worker(void *argument)
{
        CUstream stream = argument;
        struct exec_mark mark = { .queue = &stream->queue };
        uint64_t head = 0;

        prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
        sim_thread_begin(stream->party);
        for (;;) {
                struct stream_command *command;

                if (load_acquire(&stream->published) == head) {
                        leave_engine(stream, &mark);
                        if (!await_command(stream, head))
                                break;
                }
                command = (struct stream_command *)(stream->ring + head % STREAM_RING_BYTES);
                head += command->bytes;
                if (command->kind == COMMAND_PAD)
                        continue;
                serve_command(stream, command, &mark);
                if (command->is_in_flight)
                        flights_complete(stream->context->unit, end_ns_of(stream, &mark));
                add_relaxed(&stream->queue.ns, -command->estimate_ns);
                /* before waiting threads are woken, the meters get the time of the command */
                if (load_acquire(&stream->published) == head)
                        leave_engine(stream, &mark);
                retire_command(stream, head);
        }
        leave_engine(stream, &mark);
        end_stream(stream);
        sim_thread_end();
        return NULL;
}
