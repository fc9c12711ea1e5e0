/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges a launch of a graph with memory before the launch.
 *
 * The driver keeps the memory of all graphs of a device in one reservation. It grows when a graph
 * is launched or uploaded, never while one runs, and shrinks only when it is trimmed (CUDA C++
 * Programming Guide, "Graph Memory Nodes": physical memory is mapped during launch; H200 with
 * driver 580, 2026-11-27). So the charge is the reserved size that the driver reports, read after
 * each launch. Before a launch, the maximum by which the reservation may grow is granted: the least
 * of
 *
 *      what the graph needs
 *      what all graphs launched since the reservation was empty need, less what is charged
 *      the same, but of the graphs that free all that they allocate only the largest, if all
 *      of these were launched in one stream: they share their memory
 *
 * in the driver's steps. If the last two are too small (the driver need not share), the reserved
 * size is charged anyway, above the limit, and later requests are refused.
 *
 *      rc = launch_begin(&launch, exec, stream);
 *      if (rc == CUDA_SUCCESS)
 *              rc = launch_end(&launch, real.cuGraphLaunch(exec, stream));
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_LAUNCH_H
#define ALIQUOT_SHIM_CUDA_GRAPH_GRAPH_LAUNCH_H

#include "shim/cuda/charge/meter.h"
#include "shim/cuda/graph/graph.h"

/* A launch on one card that is being made. */
struct launch_part {
        struct place place;
        uint64_t need_bytes;
        bool stays;
        struct meter *meter;
        struct charge charge; /* granted, and counted as pending in the meter */
};

struct launch {
        CUgraphExec exec;
        CUstream stream;
        unsigned count;   /* 0: the graph has no memory */
        uint64_t capture; /* held until launch_end(): nothing is granted; 0: none */
        struct launch_part part[GRAPH_DEVICES];
};

/* Of a launch or an upload; `stream` with the default stream spelt out. */
CUresult launch_begin(struct launch *ret, CUgraphExec exec, CUstream stream);

/* The same for a graph that is about to be instantiated and uploaded. */
CUresult launch_begin_unknown(struct launch *ret, const struct graph_need *need, CUstream stream);

/* `rc` is the driver's answer, and the result. */
CUresult launch_end(struct launch *launch, CUresult rc);

#endif
