/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instantiates, launches and destroys executable graphs.
 */
#include "sim/graph/exec.h"

#include "sim/context/growth.h"
#include "sim/entries.h"
#include "sim/exec/event_ipc.h"
#include "sim/exec/exec.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/memory/memory.h"
#include "sim/module/module.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_FLAGS                                                                             \
        (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | \
         CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |                                            \
         CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

CUresult graph_exec_check(CUgraphExec exec)
{
        return exec && exec->magic == GRAPH_EXEC_MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUgraphNode find_original(CUgraph graph, CUgraphNode original)
{
        for (CUgraphNode at = graph->first; at; at = at->next) {
                CUgraphNode inner;

                if (at->original == original)
                        return at;
                if (at->body.type != CU_GRAPH_NODE_TYPE_GRAPH)
                        continue;
                inner = find_original(at->body.child, original);
                if (inner)
                        return inner;
        }
        return NULL;
}

CUgraphNode graph_exec_node(CUgraphExec exec, CUgraphNode node)
{
        return node_check(node) == CUDA_SUCCESS ? find_original(exec->graph, node) : NULL;
}

/* Returns the first node of a type that the simulator cannot instantiate, or NULL. */
static CUgraphNode unsupported(CUgraph graph)
{
        for (CUgraphNode at = graph->first; at; at = at->next) {
                if (at->body.type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL ||
                    at->body.type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT ||
                    at->body.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
                        return at;
                if (at->body.type == CU_GRAPH_NODE_TYPE_GRAPH && unsupported(at->body.child))
                        return at;
        }
        return NULL;
}

/* Makes room for the local memory of the kernels; those of child graphs are left out. The caller
 * holds graph_lock. */
static CUresult kernels_room(CUgraph graph)
{
        CUresult rc = CUDA_SUCCESS;

        for (CUgraphNode node = graph->first; node && rc == CUDA_SUCCESS; node = node->next) {
                if (node->body.type == CU_GRAPH_NODE_TYPE_KERNEL)
                        rc = growth_stack_raise(node->body.context,
                                                node->body.launch->function->local_bytes);
        }
        return rc;
}

static CUresult instantiate_locked(CUgraphExec exec, CUgraph graph,
                                   CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        params->hErrNode_out = NULL;
        params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
        if (graph_check(graph) != CUDA_SUCCESS || params->flags & ~(cuuint64_t)KNOWN_FLAGS)
                return CUDA_ERROR_INVALID_VALUE;
        if (graph->is_captured_into)
                return CUDA_ERROR_INVALID_VALUE;
        params->hErrNode_out = unsupported(graph);
        if (params->hErrNode_out || params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
                params->result_out = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
                return CUDA_ERROR_NOT_SUPPORTED;
        }
        if (graph_has_memory(graph) && graph->instance)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult rc = kernels_room(graph);
        if (rc != CUDA_SUCCESS)
                return rc;
        exec->graph = graph_copy(graph);
        exec->program = exec->graph ? graph_compile(exec->graph) : NULL;
        if (!exec->program)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (graph_has_memory(graph))
                graph->instance = exec;
        exec->flags = params->flags;
        params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
        return CUDA_SUCCESS;
}

/* Grows the current context at its first graph instance, with the rule `graphs`. */
static CUresult instance_room(void)
{
        CUcontext context = context_current();

        return context ? growth_raise(context, GROWTH_GRAPHS, config_get()->grants.graphs_bytes)
                       : CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *ret_exec, CUgraph graph,
                            CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        CUgraphExec exec;
        CUresult rc;

        if (!ret_exec || !params)
                return CUDA_ERROR_INVALID_VALUE;
        rc = exec_capture_check_unsafe();
        if (rc == CUDA_SUCCESS)
                rc = instance_room();
        if (rc != CUDA_SUCCESS)
                return rc;
        exec = calloc(1, sizeof(*exec));
        if (!exec)
                return CUDA_ERROR_OUT_OF_MEMORY;
        pthread_mutex_lock(&graph_lock);
        rc = instantiate_locked(exec, graph, params);
        if (rc != CUDA_SUCCESS)
                graph_free(exec->graph);
        pthread_mutex_unlock(&graph_lock);
        if (rc != CUDA_SUCCESS) {
                free(exec);
                return rc;
        }
        exec->magic = GRAPH_EXEC_MAGIC;
        *ret_exec = exec;
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph graph,
                                         unsigned long long flags)
{
        CUDA_GRAPH_INSTANTIATE_PARAMS params = { .flags = flags };

        return instantiate(ret_exec, graph, &params);
}

CUresult sim_cuGraphInstantiate_v2(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_node,
                                   char *log, size_t log_bytes)
{
        CUDA_GRAPH_INSTANTIATE_PARAMS params = { 0 };
        CUresult rc = instantiate(ret_exec, graph, &params);

        if (ret_node)
                *ret_node = params.hErrNode_out;
        if (log && log_bytes)
                log[0] = '\0';
        return rc;
}

static bool has_allocation(CUgraphExec exec)
{
        for (CUgraphNode at = exec->graph->first; at; at = at->next)
                if (at->body.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
                        return true;
        return false;
}

static bool allocates(const struct graph_program *program, CUdeviceptr address)
{
        for (size_t i = 0; i < program->count; i++) {
                if (program->nodes[i].body.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
                    program->nodes[i].body.memory.address == address)
                        return true;
        }
        return false;
}

/* Computes how much memory a launch needs, from its allocations and frees in the order in which
 * they run. */
static void find_needs(const struct graph_program *program, const void *stream,
                       struct graph_mapping *ret)
{
        uint64_t max_bytes[SIM_DEVICES] = { 0 };

        *ret = (struct graph_mapping){ .stream = stream };
        for (size_t i = 0; i < program->count; i++) {
                const struct node_body *body = &program->nodes[i].body;
                bool is_free = body->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
                uint64_t *now_bytes, bytes;
                unsigned unit;

                if (body->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
                    (!is_free || !allocates(program, body->memory.address)))
                        continue;
                bytes = memory_graph_bytes(body->memory.address, &unit);
                now_bytes = &ret->lasting_bytes[unit];
                *now_bytes += is_free ? -bytes : bytes;
                if (*now_bytes > max_bytes[unit])
                        max_bytes[unit] = *now_bytes;
        }
        for (unsigned unit = 0; unit < SIM_DEVICES; unit++)
                ret->passing_bytes[unit] = max_bytes[unit] - ret->lasting_bytes[unit];
}

/* Returns the program of an executable graph, compiled if needed. The caller holds graph_lock.
 * NULL: out of host memory. */
static struct graph_program *program_of(CUgraphExec exec)
{
        if (!exec->program)
                exec->program = graph_compile(exec->graph);
        return exec->program;
}

/* Uploads a graph. Its program is on the host, so an upload only takes the memory of its
 * allocations. */
static CUresult upload_memory(CUgraphExec exec, CUstream stream)
{
        const struct graph_program *program;
        struct graph_mapping mapping;
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        program = program_of(exec);
        if (program)
                find_needs(program, stream, &mapping);
        pthread_mutex_unlock(&graph_lock);
        rc = program ? memory_graph_map(&mapping) : CUDA_ERROR_OUT_OF_MEMORY;
        if (rc == CUDA_SUCCESS)
                memory_graph_unmap(&mapping);
        return rc;
}

CUresult sim_cuGraphUpload(bool is_per_thread, CUgraphExec exec, CUstream handle)
{
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS)
                rc = graph_exec_check(exec);
        if (rc == CUDA_SUCCESS && stream_is_capturing(stream))
                rc = capture_refuse_stream(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        return rc == CUDA_SUCCESS && has_allocation(exec) ? upload_memory(exec, stream) : rc;
}

CUresult sim_cuGraphInstantiateWithParams(bool is_per_thread, CUgraphExec *ret_exec, CUgraph graph,
                                          CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
        CUresult rc = instantiate(ret_exec, graph, params);

        if (rc == CUDA_SUCCESS && params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
                rc = sim_cuGraphUpload(is_per_thread, *ret_exec, params->hUploadStream);
        return rc;
}

CUresult sim_cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *ret_flags)
{
        CUresult rc = graph_exec_check(exec);

        if (rc != CUDA_SUCCESS || !ret_flags)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_flags = exec->flags;
        return CUDA_SUCCESS;
}

/* Handles memory that an earlier launch left allocated: frees it if the graph was instantiated with
 * that flag; otherwise the launch fails. */
static CUresult settle_memory(CUgraphExec exec)
{
        CUresult rc = CUDA_SUCCESS;

        for (CUgraphNode at = exec->graph->first; at && rc == CUDA_SUCCESS; at = at->next) {
                if (at->body.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
                    !memory_graph_is_committed(at->body.memory.address))
                        continue;
                if (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
                        memory_graph_decommit(at->body.memory.address);
                else
                        rc = CUDA_ERROR_INVALID_VALUE;
        }
        return rc;
}

/* Makes the stream wait for the last launch of the executable graph, because its launches run one
 * after the other. */
static CUresult follow(CUgraphExec exec, CUstream stream)
{
        struct command_event wait;

        if (!exec->last) {
                exec->last = event_make(stream->context, CU_EVENT_DISABLE_TIMING);
                return exec->last ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        }
        wait = (struct command_event){ exec->last, load_acquire(&exec->last->state->recorded) };
        if (has_allocation(exec)) {
                /* What the last launch left allocated is known only after its end. */
                event_await(exec->last, wait.version);
                return settle_memory(exec);
        }
        if (event_is_complete(exec->last, wait.version))
                return CUDA_SUCCESS;
        event_retain(exec->last);
        return stream_push(stream, COMMAND_WAIT, &wait, sizeof(wait));
}

static CUresult queue(CUgraphExec exec, CUstream stream)
{
        struct command_graph command, *queued;
        struct command_event record;
        uint64_t estimate_ns = 0;
        CUresult rc = follow(exec, stream);

        if (rc != CUDA_SUCCESS)
                return rc;
        pthread_mutex_lock(&graph_lock);
        command.program = program_of(exec);
        if (command.program) {
                graph_program_retain(command.program);
                estimate_ns = graph_program_estimate_ns(command.program);
        }
        pthread_mutex_unlock(&graph_lock);
        if (!command.program)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (has_allocation(exec)) {
                find_needs(command.program, stream, &command.program->mapping);
                rc = memory_graph_map(&command.program->mapping);
        }
        if (rc != CUDA_SUCCESS) {
                graph_program_release(command.program);
                return rc;
        }
        sim_spend_call(config_get()->graph_launch_ns);
        queued = stream_begin(stream, COMMAND_GRAPH, sizeof(*queued));
        if (!queued) {
                graph_program_end(command.program);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *queued = command;
        stream_estimate(stream, queued, estimate_ns);
        stream_commit(stream);
        event_retain(exec->last);
        record = (struct command_event){ exec->last, event_record_begin(exec->last) };
        return stream_push(stream, COMMAND_RECORD, &record, sizeof(record));
}

/* Adds a launch into a capturing stream to the capture, as a child graph. */
static CUresult capture_launch(CUgraphExec exec, CUstream stream)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_GRAPH,
                                  .context = stream->context,
                                  .child = exec->graph };

        return has_allocation(exec)
                       ? capture_refuse_stream(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
                       : capture_add(stream, &body);
}

CUresult sim_cuGraphLaunch(bool is_per_thread, CUgraphExec exec, CUstream handle)
{
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS)
                rc = graph_exec_check(exec);
        if (rc != CUDA_SUCCESS)
                return rc;
        return stream_is_capturing(stream) ? capture_launch(exec, stream) : queue(exec, stream);
}

CUresult sim_cuGraphExecDestroy(CUgraphExec exec)
{
        CUresult rc = graph_exec_check(exec);

        if (rc != CUDA_SUCCESS)
                return rc;
        exec->magic = 0;
        if (exec->program)
                graph_program_release(exec->program);
        if (exec->last)
                event_release(exec->last);
        pthread_mutex_lock(&graph_lock);
        if (exec->graph->original->instance == exec)
                exec->graph->original->instance = NULL;
        graph_free(exec->graph);
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
        free(exec);
        return CUDA_SUCCESS;
}
