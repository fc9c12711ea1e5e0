/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the CUDA front end remembers, in one place, because the kernel wipes it in a forked
 * child.
 *
 * A child cannot use what the parent made with the driver, and owns none of its charges: all zero
 * is exactly what it has. So no lock can be found held by a thread that does not exist there, and
 * no handler runs at fork. Each part names its lock. No lock is held across a call of the driver
 * but those of primary contexts; graphs_lock is taken last, and the others are never two
 * at once (but that of the charge, inside its own verbs, and where state says so).
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_H
#define ALIQUOT_SHIM_CUDA_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "common/atomic.h"
#include "proto/page.h"
#include "shim/cuda/table.h"
#include "shim/lock.h"

#define STATE_DEVICES 64
#define STATE_SEATS 1024u
#define STATE_METERS 1024u
#define STATE_RECORDED 256u
#define STATE_CAPTURES 256u
#define STATE_EVENTS 1024u
#define STATE_LOOKED_UP 1024u
#define STATE_LAUNCHED 4096u
#define MANY_STREAMS UINT64_MAX
#define METER_ENDED 1u
#define METER_BURYING 2u

/*
 * A context seen so far. Written under seats_lock, its context last (release); readers match the
 * context (acquire) and then read the rest. A seat that was left is used again with a new number: a
 * reader that still sees the old one holds a context that is being destroyed under it, which no
 * program may do.
 */
struct state_seat {
        _Atomic uint64_t context; /* 0 = free */
        _Atomic uint32_t owner;
        _Atomic int row;
        _Atomic int device;
};

/* What the driver reserves by itself and tells when asked: a pool, or a device's graph memory. */
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
        uint64_t staying_bytes;  /* those that leave some of it allocated, */
        uint64_t largest_bytes;  /* and the largest of the others */
        uint64_t stream;         /* the one stream they went to, or MANY_STREAMS */
};

/* A stream that records into a graphics command list: recorded.h. Guarded by recorded_lock. */
struct recorded {
        uint64_t id;    /* of the stream; 0 = free */
        uint32_t owner; /* its context; 0 = unknown */
};

/* An event of ours that waits to be used again: time.c. */
struct resting {
        uint64_t context; /* 0 = free */
        CUevent event;
};

/* A capture that was begun and has not ended: capture.c. Guarded by captures_lock. */
struct begun {
        uint64_t key; /* of the stream; 0 = free */
        uint64_t context;
};

/* What the driver took of a device by itself: remainder.h. The lock guards the charge kept under
 * SPACE_REMAINDER, and what is not atomic. */
/* Contexts of a device with a heap that is set and not taken: of one more the charge is doubled
 * when it is taken, until the context ends. */
#define REMAINDER_HEAPS 4u

struct remainder {
        struct lock lock;
        _Atomic uint32_t is_told;    /* NVML lists this process */
        _Atomic uint32_t is_foreign; /* it lists another one by our number */
        _Atomic uint64_t due_ns;
        _Atomic uint32_t is_changed; /* the driver may have taken something since the last look */
        /* So much at most was taken since the last look, or kept though it was given back, and is
         * not charged. */
        _Atomic uint64_t unlooked_bytes;
        uint64_t looked_ns;
        uint64_t silent_ns; /* it did not answer: it is asked again then */
        uint64_t first_cost_ns;
        uint64_t cost_ns;     /* of a question, at least, of late. 0 until two were measured */
        uint64_t least_bytes; /* by so many answers beside charges that came and went */
        uint32_t doubts;
        _Atomic uint32_t has_estimates; /* that no look has replaced yet. Written under `lock` */
        /* Of charges of heaps that are set and not taken; 0 = none. */
        uint64_t heap_key[REMAINDER_HEAPS];
};

struct state {
        struct remainder remainder[PAGE_DEVICES];

        /* Functions, ... that were looked up since a module last came or went, by a hash. */
        _Atomic uint64_t looked_up[STATE_LOOKED_UP];
        /* Functions that were launched since a module last went, by a hash; 0: a free place. */
        _Atomic uint64_t launched[STATE_LAUNCHED];

        struct lock seats_lock;
        _Atomic uint32_t seats_high;
        uint32_t last_owner;
        struct state_seat seats[STATE_SEATS];

        /* Row of each ordinal plus ROW_KNOWN; 0 = not asked yet. Racing writers agree. */
        _Atomic int rows[STATE_DEVICES];

        _Atomic uint64_t frees;  /* stream-ordered frees begun */
        struct lock meters_lock; /* for adding and removing */
        _Atomic uint32_t meters_high;
        struct meter meters[STATE_METERS];

        struct lock vmm_lock;
        struct handle_table vmm_handles;  /* struct vmm_allocation */
        struct handle_table vmm_mappings; /* struct vmm_mapping */
        uint64_t vmm_last_id;

        struct lock graphs_lock;
        struct handle_table graphs;          /* struct graph_part */
        _Atomic uint32_t graphs_with_memory; /* parts in there: most programs have none */

        struct lock events_lock;
        struct resting events[STATE_EVENTS];

        /* Calls in flight: that may end captures, and that hold one. Never both kinds (capture.h).
         */
        _Atomic uint32_t capture_ends;
        _Atomic uint32_t capture_holds;

        struct lock captures_lock;
        struct begun begun[STATE_CAPTURES];
        _Atomic uint32_t captures; /* that are open, also those for which there was no place */

        struct lock recorded_lock;
        struct recorded recorded[STATE_RECORDED]; /* a stream twice if begun twice */
        _Atomic uint32_t recorded_count;

        struct lock primary_lock;
        uint64_t primary[STATE_DEVICES]; /* the primary context, while it was seen active */

        struct lock imports_lock;
        struct handle_table imports;        /* struct memory_import: what we hold of others */
        struct handle_table import_handles; /* struct import_handle */
        struct handle_table exports;        /* struct memory_export: of ours, others may hold it */
        _Atomic uint32_t exports_live;
        _Atomic uint32_t imports_uncharged;
        struct handle_table orphans; /* struct orphan: given back by us, held by others */
        _Atomic uint32_t orphans_live;
        uint64_t imports_last_id;
};

extern struct state state;

#endif
