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

struct idle {
        struct meter *meter; /* NULL: nothing can become idle by this */
        uint64_t launches;
};

/* `stream` with the default stream spelt out, or POOL_CONTEXT. */
struct idle idle_begin(CUstream stream);
void idle_end(const struct idle *idle, CUresult rc);

/* The driver's word on a device's graph memory becomes the charge, if nothing can be running. */
void graph_refresh(struct meter *meter);

#endif
