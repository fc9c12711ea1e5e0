/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of meter.h: meters of pools and of graph memory. Wiped in a forked child: state.h.
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

/* Measures memory that the driver reserves on its own and reports when asked: a pool, or a device's
 * graph memory. */
struct meter {
        /* The pool's handle, or device + 1; 0: free. Written last (release). */
        _Atomic uint64_t key;
        _Atomic int space; /* SPACE_POOL or SPACE_GRAPH; written before `key` */
        _Atomic int row;
        _Atomic int device;
        /* Guards the charge kept under (space, key), and the non-atomic fields below. */
        struct lock lock;
        uint64_t version; /* raised whenever the charge is set */
        /* The reserved size may have shrunk, or may soon. Set by calls that free memory; cleared
         * when a reading after a wait finds no unused memory (relaxed). */
        _Atomic uint32_t is_dirty;
        /* Where blocks of the pool were freed whose frees may not be executed yet: 0 (nowhere), the
         * key of one stream, or MANY_STREAMS. Set before the driver is called (relaxed, by any
         * thread). */
        _Atomic uint64_t freed_stream;

        /* State of a pool. 0: in use; METER_ENDED: destroyed by the program but not empty yet;
         * METER_BURYING: a thread checks whether it can be destroyed (pool_end.c). */
        _Atomic uint32_t is_ended;
        /* Created by cuMemPoolCreate, so the driver lets us destroy it. */
        _Atomic uint32_t is_made;
        /* Also created without shareable handles, a maximum size, or a usage flag. */
        _Atomic uint32_t is_ordinary;
        _Atomic uint32_t readers; /* threads that ask the driver about `key` now */

        uint64_t pending_bytes; /* sum of the grants of calls in flight */
        uint32_t calls;         /* allocations or graph launches in flight */
        bool is_alone;          /* one of the calls has no grant, so no other call may start */
        uint32_t granted;       /* allocations that have a grant and are not settled yet */

        /* The rest is for graph memory only (graph_launch.h). A generation begins when nothing is
         * reserved; the sums are over the graphs launched in the present generation. */
        uint64_t generation;     /* number of the present generation */
        uint64_t launched_bytes; /* sum of the needs of all graphs */
        uint64_t staying_bytes;  /* sum of the needs of graphs that leave memory allocated */
        uint64_t largest_bytes;  /* largest need of the other graphs */
        uint64_t stream;         /* the one stream of all launches, or MANY_STREAMS */
};

struct meter_state {
        _Atomic uint64_t frees;  /* stream-ordered frees that have begun */
        struct lock meters_lock; /* guards adding and removing meters */
        _Atomic uint32_t meters_high;
        struct meter meters[STATE_METERS];
};

extern struct meter_state meter_state;

#endif
