/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes each kind of command, when the stream's worker has reached it.
 */
#include "sim/exec/event.h"
#include "sim/exec/stream.h"
#include "sim/graph/program.h"
#include "sim/node/clock.h"

static void run_callback(CUstream stream, struct op_run *run,
                         const struct command_callback *callback)
{
        CUstream handle = stream;

        /* For a default stream the program passed 0 or a special handle, so its callback gets such
         * a handle too. */
        if (stream->kind == STREAM_LEGACY)
                handle = NULL;
        else if (stream->kind == STREAM_PER_THREAD)
                handle = CU_STREAM_PER_THREAD;
        callback->function(handle, (CUresult)load_acquire(&stream->context->error),
                           callback->argument);
        run->mark->end_ns = sim_now_ns();
}

static void run_wait(struct op_run *run, const struct command_event *wait)
{
        uint64_t end_ns;

        event_await(wait->event, wait->version);
        end_ns = load_acquire(&wait->event->state->end_ns);
        if (end_ns > run->ready_ns && end_ns <= sim_now_ns())
                run->ready_ns = end_ns;
        event_release(wait->event);
}

static void run_record(struct op_run *run, const struct command_event *record)
{
        if (record->cost_ns) {
                run->ready_ns += record->cost_ns;
                sim_sleep_until(run->ready_ns);
        }
        event_complete(record->event, record->version, run->ready_ns);
        event_release(record->event);
}

static void run_work(struct op_run *run, const struct command_work *work)
{
        uint64_t end_ns;

        if (work->function)
                work->function(work->argument);
        end_ns = run->ready_ns + work->cost_ns;
        sim_sleep_until(end_ns);
        run->mark->end_ns = end_ns;
}

void command_run(CUstream stream, struct op_run *run, struct stream_command *command)
{
        void *payload = command + 1;

        switch (command->kind) {
        case COMMAND_LAUNCH:
                op_launch(run, payload);
                break;
        case COMMAND_COPY:
                op_copy(run, payload);
                break;
        case COMMAND_SET:
                op_set(run, payload);
                break;
        case COMMAND_HOST:
                op_host(run, payload);
                break;
        case COMMAND_CALLBACK:
                run_callback(stream, run, payload);
                break;
        case COMMAND_RECORD:
                run_record(run, payload);
                break;
        case COMMAND_WAIT:
                run_wait(run, payload);
                break;
        case COMMAND_MEMORY: {
                const struct command_memory *memory = payload;

                op_memory(run, memory->count, memory->operations);
                break;
        }
        case COMMAND_GRAPH: {
                struct command_graph *graph = payload;

                graph_program_run(graph->program, run);
                graph_program_end(graph->program);
                break;
        }
        case COMMAND_WORK:
                run_work(run, payload);
                break;
        default:
                break;
        }
}

void command_drop(struct stream_command *command)
{
        void *payload = command + 1;

        switch (command->kind) {
        case COMMAND_RECORD: {
                struct command_event *record = payload;

                event_complete(record->event, record->version, sim_now_ns());
                event_release(record->event);
                break;
        }
        case COMMAND_WAIT:
                event_release(((struct command_event *)payload)->event);
                break;
        case COMMAND_GRAPH:
                graph_program_end(((struct command_graph *)payload)->program);
                break;
        case COMMAND_WORK: {
                const struct command_work *work = payload;

                /* also after a failure of the device: the function keeps records, such as those of
                 * a pool's free memory */
                if (work->function)
                        work->function(work->argument);
                break;
        }
        default:
                break;
        }
}
