/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads as real programs are: training, inference, threads, streams that depend on each other.
 *
 * A load is what one thread does over and over; a step of it is what it does once. A failed call
 * ends the program.
 */
#pragma once

#include <stdint.h>

#include "abi/cuda.h"

#define MIXES_STREAMS 8u
#define MIXES_EVENTS 4u
#define MIXES_GRAPH_NODES 10u

/* What is asked for; a load uses what it needs of it. */
struct mixes_asked {
        const char *load;
        unsigned streams; /* of each thread */
        unsigned threads;
        unsigned kernels; /* of a step */
        uint64_t ns;      /* of a kernel */
        uint64_t long_ns; /* of the long ones */
        unsigned of;      /* one in so many is a long one */
        uint64_t pause_ns, pause_max_ns;
};

/* Of one thread. */
struct mixes_worker {
        const struct mixes_asked *asked;
        CUcontext context;
        CUfunction spin;
        CUstream stream[MIXES_STREAMS];
        CUevent event[MIXES_EVENTS];
        CUgraphExec graph;
        CUdeviceptr memory, host_word;
        void *host;
        uint64_t random, steps;

        uint64_t launches;
        uint64_t done_ns; /* how long the kernels of all steps take that are over */
};

typedef void mixes_step(struct mixes_worker *worker);

/* NULL: no such load. */
mixes_step *mixes_find(const char *name);

/* By the thread itself. With `first` it uses the streams of that one. */
void mixes_prepare(struct mixes_worker *worker, const struct mixes_worker *first);
