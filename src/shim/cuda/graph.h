/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moments at which no graph can be running, told by those who wait for the device.
 *
 *      struct idle idle = idle_begin(stream);          // or POOL_CONTEXT
 *      rc = real.cuStreamSynchronize(stream);
 *      idle_end(&idle, rc);
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_H
#define ALIQUOT_SHIM_CUDA_GRAPH_H

#include "shim/cuda/front.h"
#include "shim/cuda/pool.h"

/* Graphs that hold memory on more cards than this are charged for the first of them. */
#define GRAPH_DEVICES 16u

struct idle {
        unsigned count; /* 0: nothing can become idle by this */
        struct {
                struct meter *meter;
                uint64_t launches;
        } part[GRAPH_DEVICES];
};

/* `stream` with the default stream spelt out, or POOL_CONTEXT. */
struct idle idle_begin(CUstream stream);
void idle_end(const struct idle *idle, CUresult rc);

/* The driver's word on a device's graph memory becomes the charge, if nothing can be running. */
void graph_refresh(struct meter *meter);

#endif
