/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load patterns with which a program keeps a GPU busy. tests/programs/compute/load uses them
 * too.
 */
#ifndef ALIQUOT_LOAD_KINDS_H
#define ALIQUOT_LOAD_KINDS_H

#include "abi/cuda.h"

#define KINDS_STREAMS 2u
#define KINDS_GRAPH_NODES 10u

/* The function that is launched, and what the patterns need for it. */
struct kinds_work {
        CUfunction function;
        void **params; /* borrowed */
        CUstream stream[KINDS_STREAMS];
        CUgraphExec graph;           /* graph of KINDS_GRAPH_NODES kernels, for the kind "graph" */
        unsigned blocks;             /* blocks of each launch; 0 means 1 */
        unsigned long long launches; /* launches so far; the caller counts */
};

/* Makes the streams, and the graph if `kind` needs it, for work->function and work->params. */
CUresult kinds_prepare(struct kinds_work *work, const char *kind);

/* Launches once, and waits for the end if the kind does so. */
typedef CUresult kinds_launch(struct kinds_work *work);

/* Finds a kind by its name in proto/load.h. NULL: there is no such kind. */
kinds_launch *kinds_find(const char *name);

#endif
