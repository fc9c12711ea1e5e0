/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch of a graph with memory costs, charged before it is made.
 *
 * The driver keeps the memory of all graphs of a device in one reservation, grows it when a graph
 * is uploaded or runs, and gives it back only when trimmed. When exactly it grows is its own
 * affair, so it is charged ahead: an executable graph's *need* is the sum of its allocation nodes,
 * found by walking the graph when it is instantiated. A block without a free node stays in use
 * after the graph is over. So what may be in use once a graph runs is no more than the lesser of
 *
 *      in use at the last idle moment + needs of the graphs launched since
 *      needs of the graphs launched since a moment at which nothing was in use
 *
 * each graph counted once, and the charge is at least that while it may run. At an idle moment (a
 * synchronisation after which nothing launched can be running) the charge becomes what the driver
 * has reserved, above the limit if need be (meter_follow).
 *
 * Idle is known at once if all those launches went to one stream and that stream, or the context,
 * was waited for. Before a refusal, and at other waits, the driver is asked which launches are over
 * (graph_mark.h): if all, it is an idle moment too; if some, the first sum may be counted again,
 *
 *      in use now + needs of the graphs that still run
 *
 * where those count twice, since what they use now is not told apart. A launch that does not fit is
 * refused though the graphs before it would be over in time: the driver's launch does not wait for
 * them either, and what they wait for may be the thread that launches.
 *
 * A graph without memory nodes is not noted, and its launch costs one load more.
 *
 *      rc = launch_begin(&launch, exec, stream);
 *      if (rc == CUDA_SUCCESS)
 *              rc = launch_end(&launch, real.cuGraphLaunch(exec, stream));
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_LAUNCH_H
#define ALIQUOT_SHIM_CUDA_GRAPH_LAUNCH_H

#include "shim/cuda/graph.h"
#include "shim/cuda/graph_mark.h"
#include "shim/cuda/meter.h"

/* What a launch that is being made was granted on one card, and promised of it. */
struct graph_promise {
        struct charge charge;
        struct meter *meter;
        struct place place;
        uint64_t added;  /* to what was promised since the idle moment */
        uint64_t owed;   /* to what was promised since nothing was in use */
        uint64_t launch; /* its number */
};

struct launch {
        CUgraphExec exec;
        struct run run;
        unsigned count;   /* 0: the graph has no memory */
        uint64_t capture; /* held until launch_end(): nothing is charged; 0: none */
        struct graph_promise part[GRAPH_DEVICES];
};

/* `stream` with the default stream spelt out. */
CUresult launch_begin(struct launch *ret, CUgraphExec exec, CUstream stream);
CUresult upload_begin(struct launch *ret, CUgraphExec exec, CUstream stream);

/* `rc` is the driver's answer, and what is returned. */
CUresult launch_end(struct launch *launch, CUresult rc);

/* The two halves of launch_begin(), for who has a grant already: the cards on which the graph has
 * memory; then the grants, where what is in the parts' charges is used first. */
void launch_find_parts(struct launch *launch);
CUresult launch_grant(struct launch *launch, CUstream stream);

#endif
