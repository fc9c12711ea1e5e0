/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load patterns by which a program keeps a GPU busy. Also for tests/programs/compute/load.
 */
#ifndef ALIQUOT_LOAD_KINDS_H
#define ALIQUOT_LOAD_KINDS_H

#include "abi/cuda.h"

#define KINDS_STREAMS 2u
#define KINDS_GRAPH_NODES 10u

/* The launched function, and its streams. */
struct kinds_work {
        CUfunction function;
        void **params; /* borrowed */
        CUstream stream[KINDS_STREAMS];
        CUgraphExec graph; /* of ten such kernels, if the kind needs it */
        unsigned blocks;   /* of each launch; 0: one */
        unsigned long long launches;
};

/* Makes the streams, and the graph if the kind needs it, for a function and its parameters. */
CUresult kinds_prepare(struct kinds_work *work, const char *kind);

/* One launch, and the kind's wait for its end, if it has one. */
typedef CUresult kinds_launch(struct kinds_work *work);

/* Finds a kind of proto/load.h. NULL: no such kind. */
kinds_launch *kinds_find(const char *name);

#endif
