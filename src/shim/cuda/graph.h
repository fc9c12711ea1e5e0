/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moments at which no graph can be running, told by those who wait for the device, or asked for.
 *
 *      struct idle idle = idle_begin(stream);          // or POOL_CONTEXT
 *      rc = real.cuStreamSynchronize(stream);
 *      idle_end(&idle, rc);
 *
 *      graph_look(meter);                              // before a refusal: which graphs are over?
 */
#ifndef ALIQUOT_SHIM_CUDA_GRAPH_H
#define ALIQUOT_SHIM_CUDA_GRAPH_H

#include "shim/cuda/front.h"
#include "shim/cuda/pool.h"
#include "shim/cuda/table.h"

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

/* Ends the promises to graphs that are over, as the driver says when asked, and if nothing can be
 * running its word on the device's graph memory becomes the charge. Never waits for the device. */
void graph_look(struct meter *meter);

/* The same for every card that has promised anything. */
void graphs_look(void);

/* What graphs use on a card, as the driver said before the meter's lock was taken: a free may make
 * it less meanwhile, a launch counts in the promise. */
struct graph_use {
        uint64_t generation;
        uint64_t bytes; /* UINT64_MAX: it does not say */
};
struct graph_use graph_use_read(struct meter *meter);

/* The memory of an executable graph on one card. Guarded by graphs_lock. */
struct graph_part {
        struct table_link link; /* key: the graph; odd once that is destroyed */
        struct place place;
        uint64_t need_bytes;
        uint64_t generation;     /* of the meter, at its last launch; 0: nothing is promised */
        uint64_t era;            /* likewise */
        uint32_t mark;           /* of the graph; 0: it has none */
        struct graph_part *next; /* of those that are taken out together */
};

/* Under graphs_lock: NULL if it has none there. */
struct graph_part *graph_part_find(uint64_t key, CUdevice device);

#endif
