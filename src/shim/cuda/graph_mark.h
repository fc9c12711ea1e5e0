/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which executable graphs do not run any more, told by an event of our own behind each run.
 *
 * A *run* is a launch or an upload of a graph with memory nodes. The driver orders the launches of
 * one graph behind each other, and its uploads too (CUDA driver API, cuGraphLaunch, cuGraphUpload),
 * so one event for each kind, recorded again behind every run, tells of all of them; it tells so
 * when the stream is gone, and when the graph is. It is made before the run, in the context of its
 * stream, so that nothing but the record is left to do behind it.
 *
 *      mark_begin(&run, stream, owner);
 *      rc = real.cuGraphLaunch(exec, stream);
 *      mark_end(&run, rc);
 *
 * A run whose event could not be made or recorded, or that overlapped another of its graph, is
 * lost: only a wait of the program tells that it is over (graph.h). The events die with their
 * context, so nobody asks about any while a context may be ending (marks_lock).
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_MARK_H
#define ALIQUOT_SHIM_CUDA_GRAPH_MARK_H

#include "shim/cuda/front.h"
#include "shim/cuda/state.h"

/* A run that is being made. */
struct run {
        uint32_t mark; /* its graph's; 0: it has none */
        unsigned kind; /* RUN_LAUNCH or RUN_UPLOAD */
        CUstream stream;
        CUevent event;   /* NULL: nothing will tell that it is over */
        uint64_t number; /* among the runs of its graph */
        bool is_alone;
};

/* A mark for the graph with this key, as 1 and up; 0: all are taken. mark_drop() if no part of the
 * graph was noted with it. */
uint32_t mark_make(uint64_t key);
void mark_drop(uint32_t mark, uint64_t key);

/* `run` has mark and kind. `stream` with the default stream spelt out; `owner` is its context. */
void mark_begin(struct run *run, CUstream stream, uint32_t owner);
void mark_end(const struct run *run, CUresult rc);

/* Under graphs_lock: nothing of the graph runs, as far as marks_ask() was told. */
bool mark_is_over(const struct mark *mark);

/* Under marks_lock: asks the driver about all runs. Legal while anything is being captured. */
void marks_ask(void);

/* Under marks_lock: forgets destroyed graphs that are over and promised nowhere. */
void marks_bury(void);

/* The driver ended a context: its runs are over, its events gone. Under marks_lock since before
 * that, where it was seen coming. */
void marks_owner_gone(uint32_t owner);

#endif
