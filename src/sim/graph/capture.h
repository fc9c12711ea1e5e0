/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture: calls that would queue work make nodes of a graph instead.
 *
 * A capture begins in one stream (its origin) and spreads: a stream that waits for an event
 * recorded in it joins. Each capturing stream has *tips*, the nodes its next node will depend on.
 * It must end in its origin stream, in the thread that began it unless it is relaxed, and with
 * every other stream joined back.
 *
 * The rules are enforced as the driver does: a call that is illegal in a capture answers one of the
 * STREAM_CAPTURE errors and invalidates the capture, which cuStreamEndCapture then reports.
 * Everything here is guarded by graph_lock; the common case, no capture anywhere, costs one load.
 */
#ifndef ALIQUOT_SIM_GRAPH_CAPTURE_H
#define ALIQUOT_SIM_GRAPH_CAPTURE_H

#include "sim/exec/event.h"
#include "sim/exec/stream.h"
#include "sim/graph/graph.h"

/* Adds a node to the capture of this stream, after its tips, and makes it the new tip. The body is
 * copied. INVALIDATED if the capture is no longer valid. */
CUresult capture_add(CUstream stream, const struct node_body *body);

/* An event recorded in, or waited for by, a capturing stream. */
CUresult capture_record(CUstream stream, CUevent event);
CUresult capture_wait(CUstream stream, CUevent event);

/* Whether the event was last recorded in a capture that still runs; then the stream joins it. */
bool capture_holds_event(CUevent event);

/* The event was recorded outside a capture: forgets the capture. */
void capture_forget_event(CUevent event);

/* For calls that are illegal on a capturing stream, or on a captured event. They invalidate. */
CUresult capture_refuse_stream(CUstream stream, CUresult error);
CUresult capture_refuse_event(CUevent event);

/* Legacy stream used while blocking streams of the context capture. */
CUresult capture_refuse_legacy(struct exec_context *exec);

/* Before a wait for a whole context, in any mode of thread or capture: SUCCESS, or
 * STREAM_CAPTURE_UNSUPPORTED if streams of it capture; that invalidates their captures. */
CUresult capture_check_context(struct exec_context *exec);

/* Whether this thread may make a potentially unsafe call now. If not, STREAM_CAPTURE_UNSUPPORTED,
 * and the captures that forbid it are invalidated. */
CUresult capture_check_unsafe(void);

/* The functions behind the driver's capture calls. */
CUresult capture_begin(CUstream stream, CUgraph into, const struct graph_edge *edges, size_t count,
                       CUstreamCaptureMode mode);
CUresult capture_begin_again(CUstream stream, CUgraph graph, CUstreamCaptureMode mode);
CUresult capture_end(CUstream stream, CUgraph *ret_graph);
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);

/* graph_lock held. */
struct capture {
        cuuint64_t id;
        CUstreamCaptureMode mode;
        bool is_invalid;
        bool is_into; /* the graph is the program's own */
        CUgraph graph;
        CUgraph again; /* a graph of the program into which `graph` will be put, or NULL */
        CUstream origin;
        pthread_t thread;
        CUstream *streams; /* origin first */
        size_t stream_count;
        struct capture *next;
};
CUresult capture_set_tips(CUstream stream, const struct graph_edge *edges, size_t count,
                          bool is_replacing);

/* Gives the nodes of `graph` the bodies of those of `fresh`, which is left for graph_free().
 * graph_lock held. */
CUresult graph_retake(CUgraph graph, CUgraph fresh);

/* Destroying a stream during a capture invalidates the capture. */
void capture_stream_gone(CUstream stream);

#endif
