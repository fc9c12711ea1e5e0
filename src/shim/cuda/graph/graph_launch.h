/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges the memory that a graph may need, before the graph is launched.
 *
 * The driver keeps the memory of all graphs of a device in one reservation. The reservation grows
 * when a graph is launched or uploaded, never while one runs, and shrinks only when it is trimmed
 * (CUDA C++ Programming Guide, "Graph Memory Nodes": physical memory is mapped during launch;
 * measured on an H200 with driver 580, 2026-11-27). So the charge is the reserved size that the
 * driver reports, read after each launch. Before a launch, the maximum by which the reservation may
 * grow is reserved in the session. That maximum is the smallest of
 *
 *      the graph's own need
 *      the sum of the needs of all graphs launched since the reservation was empty, less what is
 *              charged
 *      if all of these graphs were launched in one stream: the sum of the needs of the graphs that
 *              leave memory allocated, plus the largest need of the others, less what is charged
 *
 * rounded up to the driver's allocation unit. In the third case the graphs that free all their
 * memory share it. If the last two bounds are too small (the driver need not reuse memory), the
 * reserved size is charged anyway, above the limit, and later requests are refused.
 *
 *      rc = launch_begin(&launch, exec, stream);
 *      if (rc == CUDA_SUCCESS)
 *              rc = launch_end(&launch, real.cuGraphLaunch(exec, stream));
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_LAUNCH_H
#define ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_LAUNCH_H

#include "shim/cuda/charge/meter.h"
#include "shim/cuda/graph/graph.h"

/* The part of a launch on one card, from launch_begin() to launch_end(). */
struct launch_part {
        struct place place;
        uint64_t need_bytes;
        bool stays;
        struct meter *meter;
        struct charge charge; /* granted, and counted in the meter's pending bytes */
};

struct launch {
        CUgraphExec exec;
        CUstream stream;
        unsigned count; /* number of parts; 0: the graph has no memory nodes */
        /* Capture that is kept from ending until launch_end() (nothing is granted then); 0:
         * none. */
        uint64_t capture;
        struct launch_part part[GRAPH_DEVICES];
};

/* Begins a launch or an upload: grants the memory on all cards, or on none and returns the refusal.
 * For a default stream, `stream` is CU_STREAM_LEGACY or CU_STREAM_PER_THREAD. */
CUresult launch_begin(struct launch *ret, CUgraphExec exec, CUstream stream);

/* As launch_begin(), for a graph that is instantiated and uploaded by one call and has no handle
 * yet. */
CUresult launch_begin_unknown(struct launch *ret, const struct graph_need *need, CUstream stream);

/* Ends a launch: charges what the driver has reserved now. `rc` is the driver's result; returns
 * it. */
CUresult launch_end(struct launch *launch, CUresult rc);

#endif
