/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an instantiated graph. See program.h.
 *
 * The nodes run one by one in an order that respects dependencies. In modelled time, each begins at
 * the latest end of the nodes on which it depends. The launch keeps its claim on the engine from
 * the first compute node to the last, except around nodes that may block the host.
 */
#include "sim/graph/program.h"

#include "sim/exec/event.h"
#include "sim/exec/stream.h"
#include "sim/graph/exec.h"
#include "sim/graph/graph.h"
#include "sim/memory/memory.h"
#include "sim/node/clock.h"

#include <stdlib.h>

void graph_program_retain(struct graph_program *program)
{
        add_relaxed(&program->references, 1);
}

void graph_program_discard(struct graph_program *program)
{
        for (size_t i = 0; i < program->count; i++) {
                struct program_node *node = &program->nodes[i];

                if (node->child && add_acq_rel(&node->child->references, (uint32_t)-1) == 1)
                        graph_program_discard(node->child);
                else if (node->body.type != CU_GRAPH_NODE_TYPE_GRAPH)
                        body_free(&node->body);
                free(node->after);
        }
        free(program->nodes);
        free(program);
}

void graph_program_release(struct graph_program *program)
{
        if (add_acq_rel(&program->references, (uint32_t)-1) != 1)
                return;
        pthread_mutex_lock(&graph_lock);
        graph_program_discard(program);
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
}

void graph_program_end(struct graph_program *program)
{
        for (size_t i = 0; i < program->count; i++) {
                if (program->nodes[i].body.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
                        memory_graph_leave(program->nodes[i].body.memory.address);
        }
        memory_graph_unmap(&program->mapping);
        graph_program_release(program);
}

static void run_event(struct op_run *run, const struct node_body *body)
{
        if (body->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
                event_complete(body->event, event_record_begin(body->event), run->ready_ns);
                progress_announce();
                return;
        }
        event_await(body->event, load_acquire(&body->event->state->recorded));
}

static void run_memory(struct op_run *run, const struct node_body *body)
{
        CUresult rc = body->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
                              ? memory_graph_commit(body->memory.address)
                              : memory_graph_decommit(body->memory.address);

        if (rc != CUDA_SUCCESS)
                context_poison(run->exec->context, rc);
}

static void leave_engine(struct op_run *run)
{
        if (run->mark->is_on)
                place_off(&run->exec->place, run->mark);
}

static void run_node(struct op_run *run, struct program_node *node)
{
        struct node_body *body = &node->body;

        switch (body->type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
                op_launch(run, body->launch);
                break;
        case CU_GRAPH_NODE_TYPE_MEMCPY:
                op_copy(run, &body->copy.copy);
                break;
        case CU_GRAPH_NODE_TYPE_MEMSET:
                op_set(run, &body->set.set);
                break;
        case CU_GRAPH_NODE_TYPE_HOST:
                leave_engine(run);
                op_host(run, &body->host);
                break;
        case CU_GRAPH_NODE_TYPE_GRAPH:
                graph_program_run(node->child, run);
                break;
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
                leave_engine(run);
                run_event(run, body);
                break;
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
                leave_engine(run);
                op_memory(run, body->batch.count, body->batch.operations);
                break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
                run_memory(run, body);
                break;
        default:
                break;
        }
}

/* Moves the mark to the time at which the node may begin: the latest end of the nodes on which it
 * depends. */
static void begin_node(struct op_run *run, const struct graph_program *program,
                       const struct program_node *node, const struct exec_mark *start)
{
        uint64_t end_ns = start->end_ns, end_clock = start->end_clock;

        for (size_t i = 0; i < node->after_count; i++) {
                const struct program_node *before = &program->nodes[node->after[i]];

                if (before->end_ns > end_ns)
                        end_ns = before->end_ns;
                if (before->end_clock > end_clock)
                        end_clock = before->end_clock;
        }
        run->mark->end_ns = end_ns;
        run->mark->end_clock = end_clock;
        run->ready_ns = end_ns;
}

uint64_t graph_program_estimate_ns(const struct graph_program *program)
{
        uint64_t ns = 0;

        for (size_t i = 0; i < program->count; i++) {
                const struct program_node *node = &program->nodes[i];

                if (node->is_disabled)
                        continue;
                if (node->body.type == CU_GRAPH_NODE_TYPE_KERNEL)
                        ns += op_launch_estimate_ns(node->body.launch);
                else if (node->body.type == CU_GRAPH_NODE_TYPE_GRAPH)
                        ns += graph_program_estimate_ns(node->child);
        }
        return ns;
}

/* The ends of the nodes are stored in the program, because only one launch of it runs at a time
 * (exec.h). */
void graph_program_run(struct graph_program *program, struct op_run *run)
{
        struct exec_mark start, latest;
        bool was_on = run->mark->is_on;

        if (run->ready_ns > run->mark->end_ns)
                run->mark->end_ns = run->ready_ns;
        if (!was_on)
                run->mark->end_clock = 0;
        start = *run->mark;
        latest = start;
        for (size_t i = 0; i < program->count; i++) {
                struct program_node *node = &program->nodes[i];

                begin_node(run, program, node, &start);
                if (!node->is_disabled && !load_acquire(&run->exec->context->error))
                        run_node(run, node);
                if (run->ready_ns > run->mark->end_ns)
                        run->mark->end_ns = run->ready_ns;
                node->end_ns = run->mark->end_ns;
                node->end_clock = run->mark->end_clock;
                if (node->end_ns > latest.end_ns)
                        latest.end_ns = node->end_ns;
                if (node->end_clock > latest.end_clock)
                        latest.end_clock = node->end_clock;
        }
        run->mark->end_ns = latest.end_ns;
        run->mark->end_clock = latest.end_clock;
        run->ready_ns = latest.end_ns;
}
