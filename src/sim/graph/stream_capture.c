/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls on stream capture.
 */
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/memory/memory.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

#include <stdlib.h>
#include <string.h>

CUresult sim_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
        if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
                return CUDA_ERROR_INVALID_VALUE;
        return capture_begin(stream, NULL, NULL, 0, mode);
}

/* Makes edges from the two arrays that the program passes; each node must be in `graph`. */
static struct graph_edge *edges_of(CUgraph graph, const CUgraphNode *nodes,
                                   const CUgraphEdgeData *data, size_t count)
{
        struct graph_edge *edges = calloc(count + 1, sizeof(*edges));

        for (size_t i = 0; edges && i < count; i++) {
                if (node_check(nodes[i]) != CUDA_SUCCESS || nodes[i]->graph != graph) {
                        free(edges);
                        return NULL;
                }
                edges[i].from = nodes[i];
                if (data)
                        edges[i].data = data[i];
        }
        return edges;
}

CUresult sim_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *nodes,
                                         const CUgraphEdgeData *data, size_t count,
                                         CUstreamCaptureMode mode)
{
        struct graph_edge *edges = NULL;

        if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED || (count && !nodes))
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&graph_lock);
        if (graph_check(graph) == CUDA_SUCCESS && !graph->is_captured_into)
                edges = edges_of(graph, nodes, data, count);
        pthread_mutex_unlock(&graph_lock);
        if (!edges)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult rc = capture_begin(stream, graph, edges, count, mode);
        free(edges);
        return rc;
}

/* `differs`, a function to call when parameters differ, is not supported; without it, differing
 * parameters are accepted. */
CUresult sim_cuStreamBeginRecaptureToGraph(CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
                                           CUgraphRecaptureCallback differs, void *data)
{
        if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
                return CUDA_ERROR_INVALID_VALUE;
        return differs ? CUDA_ERROR_NOT_SUPPORTED : capture_begin_again(stream, graph, mode);
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
        if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
                return CUDA_ERROR_INVALID_VALUE;
        *mode = capture_exchange_mode(*mode);
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamEndCapture(CUstream stream, CUgraph *ret_graph)
{
        return capture_end(stream, ret_graph);
}

/* Resolves the stream of a query about captures. For the legacy stream, the query is ambiguous
 * while a blocking stream captures, but it does not invalidate the capture. A host function may
 * make such a query. */
static CUresult resolve_asked(bool is_per_thread, CUstream handle, CUstream *ret_stream)
{
        CUresult rc = stream_find(handle, is_per_thread, ret_stream);

        sim_spend(config_get()->capture_query_ns);
        if (rc == CUDA_SUCCESS && (*ret_stream)->kind == STREAM_LEGACY &&
            load_acquire(&(*ret_stream)->exec->blocking_captures))
                return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        return rc;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
        const struct capture *capture = load_relaxed(&stream->capture);

        if (!capture)
                return CU_STREAM_CAPTURE_STATUS_NONE;
        return capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult sim_cuStreamIsCapturing(bool is_per_thread, CUstream handle,
                                 CUstreamCaptureStatus *ret_status)
{
        CUstream stream;
        CUresult rc = resolve_asked(is_per_thread, handle, &stream);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_status)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&graph_lock);
        *ret_status = status_of(stream);
        pthread_mutex_unlock(&graph_lock);
        return CUDA_SUCCESS;
}

static bool has_edge_data(CUstream stream)
{
        static const CUgraphEdgeData plain;

        for (size_t i = 0; i < stream->tip_count; i++)
                if (memcmp(&stream->tip_edges[i], &plain, sizeof(plain)) != 0)
                        return true;
        return false;
}

CUresult sim_cuStreamGetCaptureInfo_v3(bool is_per_thread, CUstream handle,
                                       CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id,
                                       CUgraph *ret_graph, const CUgraphNode **ret_nodes,
                                       const CUgraphEdgeData **ret_edges, size_t *ret_count)
{
        const struct capture *capture;
        CUstream stream;
        CUresult rc = resolve_asked(is_per_thread, handle, &stream);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_status)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&graph_lock);
        *ret_status = status_of(stream);
        capture = load_relaxed(&stream->capture);
        if (*ret_status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
                if (ret_id)
                        *ret_id = capture->id;
                if (ret_graph)
                        *ret_graph = capture->graph;
                if (ret_nodes)
                        *ret_nodes = stream->tips;
                if (ret_edges)
                        *ret_edges = stream->tip_edges;
                else if (ret_nodes && has_edge_data(stream))
                        rc = CUDA_ERROR_LOSSY_QUERY;
                if (ret_count)
                        *ret_count = stream->tip_count;
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *nodes,
                                                  const CUgraphEdgeData *data, size_t count,
                                                  unsigned flags)
{
        struct graph_edge *edges = NULL;
        struct capture *capture;
        CUresult rc = CUDA_SUCCESS;

        if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count && !nodes))
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&graph_lock);
        capture = load_relaxed(&stream->capture);
        if (!capture)
                rc = CUDA_ERROR_ILLEGAL_STATE;
        else if (capture->is_invalid)
                rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        else
                edges = edges_of(capture->graph, nodes, data, count);
        if (edges)
                rc = capture_set_tips(stream, edges, count,
                                      flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
        else if (rc == CUDA_SUCCESS)
                rc = CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_unlock(&graph_lock);
        free(edges);
        return rc;
}

CUresult exec_capture_alloc(CUstream handle, bool is_per_thread, CUdevice device, uint64_t bytes,
                            CUdeviceptr *ret_address)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
        CUstream stream;
        CUresult rc = stream_resolve(handle, is_per_thread, &stream);

        if (rc != CUDA_SUCCESS)
                return rc;
        body.memory.shared = graph_address_make(device, bytes, &rc);
        if (!body.memory.shared)
                return rc;
        body.memory.address = body.memory.shared->address;
        body.context = stream->context;
        body.memory.device = device;
        body.memory.bytes = bytes;
        body.memory.properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        body.memory.properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        body.memory.properties.location.id = device;
        rc = capture_add(stream, &body);
        if (rc == CUDA_SUCCESS)
                *ret_address = body.memory.address;
        /* The node has its own reference. */
        graph_address_release(body.memory.shared);
        return rc;
}

CUresult exec_capture_free(CUstream handle, bool is_per_thread, CUdeviceptr address)
{
        struct node_body body = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
        struct memory_block block;
        CUstream stream;
        CUresult rc = stream_resolve(handle, is_per_thread, &stream);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!memory_find(address, &block) || block.kind != MEMORY_GRAPH || block.base != address)
                return CUDA_ERROR_INVALID_VALUE;
        body.context = stream->context;
        body.memory.address = address;
        return capture_add(stream, &body);
}
