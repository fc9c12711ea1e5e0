/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meters of pools and of graph memory (meter.h). Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_METERS_H
#define ALIQUOT_SHIM_CUDA_STATE_METERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"
#include "shim/lock.h"

#define STATE_METERS 1024u
#define MANY_STREAMS UINT64_MAX
#define METER_ENDED 1u
#define METER_BURYING 2u

/* Memory that the driver reserves by itself and reports when asked: a pool, or a device's graph
 * memory. */
struct meter {
        _Atomic uint64_t key; /* the pool, or device + 1; 0 = free. Written last (release) */
        _Atomic int space;    /* SPACE_POOL or SPACE_GRAPH; written before `key` */
        _Atomic int row;
        _Atomic int device;
        struct lock lock; /* guards the charge kept under (space, key), and what follows */
        uint64_t version; /* raised whenever the charge was set */
        /* It may have shrunk since it was read: set by a free, cleared by a reading (relaxed). */
        _Atomic uint32_t is_dirty;
        /* Where blocks were freed that are not known to be free yet: 0, one stream's key, or
         * MANY_STREAMS. Set before the free is made (relaxed, by any thread). */
        _Atomic uint64_t freed_stream;

        /* A pool: 0 lives; ENDED by the program and not empty yet; BURYING (pool_end.c). */
        _Atomic uint32_t is_ended;
        _Atomic uint32_t is_made;     /* by cuMemPoolCreate, so it may be destroyed */
        _Atomic uint32_t is_ordinary; /* and is neither shared, nor bounded, nor of a kind */
        _Atomic uint32_t readers;     /* calls that ask the driver about `key` now */

        uint64_t pending_bytes; /* granted to calls in flight */
        uint32_t calls;         /* allocations, or launches of graphs, in flight */
        bool is_alone;          /* one is, without a grant: no other may start */
        uint32_t granted;       /* allocations that have a grant, until they settled */

        /* Graph memory only (graph_launch.h): of graphs launched since nothing was reserved. */
        uint64_t generation;     /* number of that moment */
        uint64_t launched_bytes; /* what they need, */
        uint64_t staying_bytes;  /* graphs that leave some of it allocated, */
        uint64_t largest_bytes;  /* and the largest of the others */
        uint64_t stream;         /* the one stream they went to, or MANY_STREAMS */
};

struct meter_state {
        _Atomic uint64_t frees;  /* stream-ordered frees begun */
        struct lock meters_lock; /* for adding and removing */
        _Atomic uint32_t meters_high;
        struct meter meters[STATE_METERS];
};

extern struct meter_state meter_state;

#endif
