/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which a program keeps a GPU busy. Also of tests/programs/compute/load.
 */
#ifndef ALIQUOT_LOAD_KINDS_H
#define ALIQUOT_LOAD_KINDS_H

#include "abi/cuda.h"

#define KINDS_STREAMS 2u
#define KINDS_GRAPH_NODES 10u

/* What is launched, and where. */
struct kinds_work {
        CUfunction function;
        void **params; /* borrowed */
        CUstream stream[KINDS_STREAMS];
        CUgraphExec graph; /* of ten such kernels, for that kind */
        unsigned blocks;   /* of each launch; 0: one */
        unsigned long long launches;
};

/* Streams, and the graph where the kind has one, for a function and its parameters. */
CUresult kinds_prepare(struct kinds_work *work, const char *kind);

/* One launch, or what there is of it before the next one. */
typedef CUresult kinds_launch(struct kinds_work *work);

/* Of proto/load.h. NULL: no such kind. */
kinds_launch *kinds_find(const char *name);

#endif
