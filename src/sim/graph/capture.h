/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture: calls that would queue work add nodes to a graph instead.
 *
 * A capture begins in one stream (its origin) and spreads: a stream that waits for an event
 * recorded in the capture joins it. Each capturing stream has *tips*, the nodes on which its next
 * node will depend. A capture must end in its origin stream, after all its other streams have
 * joined back, and in the thread that began it unless it is relaxed.
 *
 * The rules are those of the real driver: a call that is illegal in a capture returns one of the
 * STREAM_CAPTURE errors and invalidates the capture, which cuStreamEndCapture then reports. All
 * state is guarded by graph_lock. While nothing is being captured, the check costs one load.
 */
#ifndef ALIQUOT_SIM_GRAPH_CAPTURE_H
#define ALIQUOT_SIM_GRAPH_CAPTURE_H

#include "sim/exec/event.h"
#include "sim/exec/stream.h"
#include "sim/graph/graph.h"

/* Adds a node with a copy of the body to the capture of this stream. The node depends on the
 * stream's tips and becomes the new tip. INVALIDATED if the capture is no longer valid. */
CUresult capture_add(CUstream stream, const struct node_body *body);

/* Record an event in a capturing stream, or make the stream wait for one. */
CUresult capture_record(CUstream stream, CUevent event);
CUresult capture_wait(CUstream stream, CUevent event);

/* Returns whether the event was last recorded in a capture that still runs. A stream that waits for
 * such an event joins the capture. */
bool capture_holds_event(CUevent event);

/* Removes the event's reference to a capture, after a record outside a capture. */
void capture_forget_event(CUevent event);

/* Invalidate the capture and return `error` (or that of the capture), for calls that are illegal on
 * a capturing stream or on a captured event. */
CUresult capture_refuse_stream(CUstream stream, CUresult error);
CUresult capture_refuse_event(CUevent event);

/* Invalidates the captures of the context's blocking streams, when the legacy stream is used while
 * they capture. */
CUresult capture_refuse_legacy(struct exec_context *exec);

/* Checks whether a capture forbids waiting for the whole context, whatever the modes of thread and
 * capture are. STREAM_CAPTURE_UNSUPPORTED if streams of the context capture; that invalidates their
 * captures. */
CUresult capture_check_context(struct exec_context *exec);

/* Returns whether the capture modes allow this thread a potentially unsafe call now. If not,
 * STREAM_CAPTURE_UNSUPPORTED, and the captures that forbid it are invalidated. */
CUresult capture_check_unsafe(void);

/* The functions behind the driver's capture calls. */
CUresult capture_begin(CUstream stream, CUgraph into, const struct graph_edge *edges, size_t count,
                       CUstreamCaptureMode mode);
CUresult capture_begin_again(CUstream stream, CUgraph graph, CUstreamCaptureMode mode);
CUresult capture_end(CUstream stream, CUgraph *ret_graph);
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);

/* A capture that runs. Guarded by graph_lock. */
struct capture {
        cuuint64_t id;
        CUstreamCaptureMode mode;
        bool is_invalid;
        bool is_into; /* `graph` is the program's own graph */
        CUgraph graph;
        /* the program's graph that is captured again: it will get the contents of `graph`; or
         * NULL */
        CUgraph again;
        CUstream origin;
        pthread_t thread;
        CUstream *streams; /* the origin is the first */
        size_t stream_count;
        struct capture *next;
};
CUresult capture_set_tips(CUstream stream, const struct graph_edge *edges, size_t count,
                          bool is_replacing);

/* Gives each node of `graph` the body of the corresponding node of `fresh`. The caller then frees
 * `fresh` with graph_free(), and holds graph_lock. */
CUresult graph_retake(CUgraph graph, CUgraph fresh);

/* Invalidates the capture of a stream that is destroyed. */
void capture_stream_gone(CUstream stream);

#endif
