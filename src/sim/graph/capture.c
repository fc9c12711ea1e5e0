/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs captures. See capture.h for the rules; stream_capture.c has the driver's calls.
 */
#include "sim/graph/capture.h"

#include <stdlib.h>
#include <string.h>

static struct capture *captures; /* guarded by graph_lock */
static _Atomic uint32_t capture_count;
static __thread CUstreamCaptureMode thread_mode __attribute__((tls_model("initial-exec"))) =
        CU_STREAM_CAPTURE_MODE_GLOBAL;

static struct capture *find_capture(uint64_t id)
{
        struct capture *at = captures;

        while (at && at->id != id)
                at = at->next;
        return id ? at : NULL;
}

/* Adds the stream to the capture. */
static bool join_capture(struct capture *capture, CUstream stream)
{
        CUstream *streams =
                realloc(capture->streams, (capture->stream_count + 1) * sizeof(CUstream));

        if (!streams)
                return false;
        capture->streams = streams;
        streams[capture->stream_count++] = stream;
        store_release(&stream->capture, capture);
        if (!(stream->flags & CU_STREAM_NON_BLOCKING))
                add_acq_rel(&stream->exec->blocking_captures, 1);
        return true;
}

static void leave_capture(CUstream stream)
{
        if (!(stream->flags & CU_STREAM_NON_BLOCKING))
                add_acq_rel(&stream->exec->blocking_captures, (uint32_t)-1);
        store_release(&stream->capture, NULL);
        free(stream->tips);
        free(stream->tip_edges);
        stream->tips = NULL;
        stream->tip_edges = NULL;
        stream->tip_count = 0;
}

CUresult capture_set_tips(CUstream stream, const struct graph_edge *edges, size_t count,
                          bool is_replacing)
{
        size_t kept = is_replacing ? 0 : stream->tip_count;
        CUgraphNode *tips = calloc(kept + count + 1, sizeof(CUgraphNode));
        CUgraphEdgeData *data = calloc(kept + count + 1, sizeof(*data));
        size_t total = kept;

        if (!tips || !data) {
                free(tips);
                free(data);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (kept) {
                memcpy(tips, stream->tips, kept * sizeof(CUgraphNode));
                memcpy(data, stream->tip_edges, kept * sizeof(*data));
        }
        for (size_t i = 0; i < count; i++) {
                size_t j = 0;

                while (j < total && tips[j] != edges[i].from)
                        j++;
                tips[j] = edges[i].from;
                data[j] = edges[i].data;
                if (j == total)
                        total++;
        }
        free(stream->tips);
        free(stream->tip_edges);
        stream->tips = tips;
        stream->tip_edges = data;
        stream->tip_count = total;
        return CUDA_SUCCESS;
}

static CUresult add_locked(CUstream stream, const struct node_body *body)
{
        struct capture *capture = load_relaxed(&stream->capture);
        struct graph_edge *edges;
        CUgraphNode node;

        if (!capture)
                return CUDA_ERROR_ILLEGAL_STATE;
        if (capture->is_invalid)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        edges = calloc(stream->tip_count + 1, sizeof(*edges));
        if (!edges)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t i = 0; i < stream->tip_count; i++)
                edges[i] = (struct graph_edge){ stream->tips[i], stream->tip_edges[i] };
        node = graph_add(capture->graph, edges, stream->tip_count, body);
        free(edges);
        if (!node)
                return CUDA_ERROR_OUT_OF_MEMORY;
        return capture_set_tips(stream, &(struct graph_edge){ .from = node }, 1, true);
}

CUresult capture_add(CUstream stream, const struct node_body *body)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = add_locked(stream, body);
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult capture_record(CUstream stream, CUevent event)
{
        struct capture *capture;
        CUgraphNode *tips;
        CUresult rc = CUDA_SUCCESS;

        pthread_mutex_lock(&graph_lock);
        capture = load_relaxed(&stream->capture);
        tips = calloc(stream->tip_count + 1, sizeof(CUgraphNode));
        if (!capture || capture->is_invalid) {
                rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        } else if (!tips) {
                rc = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
                if (stream->tip_count)
                        memcpy(tips, stream->tips, stream->tip_count * sizeof(CUgraphNode));
                free(event->tips);
                event->tips = tips;
                event->tip_count = stream->tip_count;
                store_release(&event->capture_id, capture->id);
                tips = NULL;
        }
        pthread_mutex_unlock(&graph_lock);
        free(tips);
        return rc;
}

bool capture_holds_event(CUevent event)
{
        bool is_held;

        if (!load_acquire(&event->capture_id))
                return false;
        pthread_mutex_lock(&graph_lock);
        is_held = find_capture(load_relaxed(&event->capture_id)) != NULL;
        pthread_mutex_unlock(&graph_lock);
        return is_held;
}

void capture_forget_event(CUevent event)
{
        if (!load_acquire(&event->capture_id))
                return;
        pthread_mutex_lock(&graph_lock);
        store_release(&event->capture_id, 0);
        free(event->tips);
        event->tips = NULL;
        event->tip_count = 0;
        pthread_mutex_unlock(&graph_lock);
}

static CUresult take_tips(CUstream stream, CUevent event)
{
        CUresult rc = CUDA_SUCCESS;

        for (size_t i = 0; i < event->tip_count && rc == CUDA_SUCCESS; i++)
                rc = capture_set_tips(stream, &(struct graph_edge){ .from = event->tips[i] }, 1,
                                      false);
        return rc;
}

static CUresult wait_locked(CUstream stream, CUevent event)
{
        struct capture *own = load_relaxed(&stream->capture);
        struct capture *other = find_capture(load_relaxed(&event->capture_id));

        if (own && own->is_invalid)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        if (!other) {
                /* Waiting for an event that was never recorded adds no dependency. An event
                 * recorded outside the capture would be a dependency from outside, which is not
                 * allowed. */
                if (!own || !load_acquire(&event->state->recorded))
                        return CUDA_SUCCESS;
                own->is_invalid = true;
                return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
        }
        if (other->is_invalid)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        if (own && own != other) {
                own->is_invalid = true;
                other->is_invalid = true;
                return CUDA_ERROR_STREAM_CAPTURE_MERGE;
        }
        if (!own && stream->kind == STREAM_LEGACY) {
                other->is_invalid = true;
                return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
        if (!own && !join_capture(other, stream))
                return CUDA_ERROR_OUT_OF_MEMORY;
        return take_tips(stream, event);
}

CUresult capture_wait(CUstream stream, CUevent event)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = wait_locked(stream, event);
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult capture_refuse_stream(CUstream stream, CUresult error)
{
        struct capture *capture;

        pthread_mutex_lock(&graph_lock);
        capture = load_relaxed(&stream->capture);
        if (capture)
                capture->is_invalid = true;
        pthread_mutex_unlock(&graph_lock);
        return error;
}

CUresult capture_refuse_event(CUevent event)
{
        struct capture *capture;

        pthread_mutex_lock(&graph_lock);
        capture = find_capture(load_relaxed(&event->capture_id));
        if (capture)
                capture->is_invalid = true;
        pthread_mutex_unlock(&graph_lock);
        return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult capture_refuse_legacy(struct exec_context *exec)
{
        pthread_mutex_lock(&graph_lock);
        for (struct capture *at = captures; at; at = at->next)
                for (size_t i = 0; i < at->stream_count; i++)
                        if (at->streams[i]->exec == exec &&
                            !(at->streams[i]->flags & CU_STREAM_NON_BLOCKING))
                                at->is_invalid = true;
        pthread_mutex_unlock(&graph_lock);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult capture_check_context(struct exec_context *exec)
{
        CUresult rc = CUDA_SUCCESS;

        if (!load_acquire(&capture_count))
                return rc;
        pthread_mutex_lock(&graph_lock);
        for (struct capture *at = captures; at; at = at->next) {
                for (size_t i = 0; i < at->stream_count; i++) {
                        if (at->streams[i]->exec != exec)
                                continue;
                        at->is_invalid = true;
                        rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
                }
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult capture_check_unsafe(void)
{
        CUresult rc = CUDA_SUCCESS;

        if (!load_acquire(&capture_count) || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
                return CUDA_SUCCESS;
        pthread_mutex_lock(&graph_lock);
        for (struct capture *at = captures; at; at = at->next) {
                bool is_ours = pthread_equal(at->thread, pthread_self());
                bool forbids = is_ours ? at->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                       : at->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                                 thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;

                if (!forbids)
                        continue;
                at->is_invalid = true;
                rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
        CUstreamCaptureMode before = thread_mode;

        thread_mode = mode;
        return before;
}

static CUresult begin_locked(CUstream stream, CUgraph into, CUstreamCaptureMode mode,
                             struct capture **ret_capture)
{
        static cuuint64_t next_id = 1;
        struct capture *capture;

        if (load_relaxed(&stream->capture))
                return CUDA_ERROR_ILLEGAL_STATE;
        capture = calloc(1, sizeof(*capture));
        if (!capture)
                return CUDA_ERROR_OUT_OF_MEMORY;
        capture->graph = into ? into : graph_make();
        if (!capture->graph || !join_capture(capture, stream)) {
                if (!into)
                        graph_free(capture->graph);
                free(capture);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        capture->is_into = into;
        capture->id = next_id++;
        capture->mode = mode;
        capture->origin = stream;
        capture->thread = pthread_self();
        capture->next = captures;
        captures = capture;
        capture->graph->is_captured_into = true;
        add_acq_rel(&capture_count, 1);
        *ret_capture = capture;
        return CUDA_SUCCESS;
}

CUresult capture_begin(CUstream stream, CUgraph into, const struct graph_edge *edges, size_t count,
                       CUstreamCaptureMode mode)
{
        struct capture *capture;
        CUresult rc;

        if (stream->kind == STREAM_LEGACY)
                return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        pthread_mutex_lock(&graph_lock);
        rc = begin_locked(stream, into, mode, &capture);
        if (rc == CUDA_SUCCESS && count)
                rc = capture_set_tips(stream, edges, count, true);
        pthread_mutex_unlock(&graph_lock);
        return rc;
}

CUresult capture_begin_again(CUstream stream, CUgraph graph, CUstreamCaptureMode mode)
{
        struct capture *capture;
        CUresult rc = CUDA_ERROR_INVALID_VALUE;

        if (stream->kind == STREAM_LEGACY)
                return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        pthread_mutex_lock(&graph_lock);
        if (graph_check(graph) == CUDA_SUCCESS && !graph->is_captured_into)
                rc = graph_has_memory(graph) ? CUDA_ERROR_NOT_SUPPORTED
                                             : begin_locked(stream, NULL, mode, &capture);
        if (rc == CUDA_SUCCESS) {
                capture->again = graph;
                graph->is_captured_into = true;
                graph_users_release(graph);
        }
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
        return rc;
}

/* Returns whether everything that the other streams added precedes the origin's tips. */
static bool is_joined(const struct capture *capture)
{
        for (size_t i = 1; i < capture->stream_count; i++) {
                CUstream stream = capture->streams[i];

                for (size_t j = 0; j < stream->tip_count; j++) {
                        bool is_reached = false;

                        for (size_t k = 0; k < capture->origin->tip_count && !is_reached; k++)
                                is_reached =
                                        node_reaches(stream->tips[j], capture->origin->tips[k]);
                        if (!is_reached)
                                return false;
                }
        }
        return true;
}

static void finish_capture(struct capture *capture)
{
        struct capture **at = &captures;

        while (*at != capture)
                at = &(*at)->next;
        *at = capture->next;
        for (size_t i = 0; i < capture->stream_count; i++)
                leave_capture(capture->streams[i]);
        capture->graph->is_captured_into = false;
        if (capture->again)
                capture->again->is_captured_into = false;
        add_acq_rel(&capture_count, (uint32_t)-1);
        free(capture->streams);
        free(capture);
}

static CUresult end_locked(CUstream stream, CUgraph *ret_graph)
{
        struct capture *capture = load_relaxed(&stream->capture);
        CUgraph graph, again;
        CUresult rc = CUDA_SUCCESS;
        bool is_into;

        if (!capture)
                return CUDA_ERROR_ILLEGAL_STATE;
        if (capture->origin != stream) {
                capture->is_invalid = true;
                return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
        }
        if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
            !pthread_equal(capture->thread, pthread_self()))
                return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
        if (capture->is_invalid)
                rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        else if (!is_joined(capture))
                rc = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        graph = capture->graph;
        again = capture->again;
        is_into = capture->is_into;
        finish_capture(capture);
        if (rc == CUDA_SUCCESS && again)
                rc = graph_retake(again, graph);
        if (again || (rc != CUDA_SUCCESS && !is_into))
                graph_free(graph);
        if (again)
                graph = again;
        *ret_graph = rc == CUDA_SUCCESS ? graph : NULL;
        return rc;
}

CUresult capture_end(CUstream stream, CUgraph *ret_graph)
{
        CUresult rc;

        pthread_mutex_lock(&graph_lock);
        rc = end_locked(stream, ret_graph);
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
        return rc;
}

void capture_stream_gone(CUstream stream)
{
        struct capture *capture;

        if (!stream_is_capturing(stream))
                return;
        pthread_mutex_lock(&graph_lock);
        capture = load_relaxed(&stream->capture);
        if (capture) {
                capture->is_invalid = true;
                for (size_t i = 0; i < capture->stream_count; i++) {
                        if (capture->streams[i] != stream)
                                continue;
                        capture->streams[i] = capture->streams[--capture->stream_count];
                        break;
                }
                leave_capture(stream);
                /* Without its origin, the capture can no longer be ended by the program. */
                if (capture->origin == stream) {
                        CUgraph graph = capture->graph;
                        bool is_into = capture->is_into;

                        finish_capture(capture);
                        if (!is_into)
                                graph_free(graph);
                }
        }
        pthread_mutex_unlock(&graph_lock);
        graph_users_bury();
}
