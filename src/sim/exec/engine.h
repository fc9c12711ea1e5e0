/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines of one device, in memory that all processes share: who computes now, and the links.
 *
 * Compute: a context takes a *seat*. Of the seats that have work one is the holder; when others
 * have work too it holds for one slice, then the next in turn follows (round robin, as hardware
 * time slicing does). Work of one context overlaps freely. Nobody drives this: whoever waits, and
 * finds the slice over, turns it; a process may thus stop or die at any point without stopping the
 * others. One that is stopped keeps its turns until what it had queued is done; then it is passed
 * over until it goes on.
 *
 * Time is computed, not observed. A seat's *clock* counts the ns it has held the engine; work that
 * starts at clock c and takes d ends when the clock shows c + d, however late the thread that waits
 * for it wakes up. Starts, slices and hand-overs are dated back accordingly, so a backlog of short
 * kernels has no gaps and a share is exact although the host's sleep is not.
 *
 * Links (copy engines): first come, first served, one reservation at a time. The two directions
 * between host and device share what `duplex` percent of one direction's rate allow: while both are
 * busy the copy that was reserved first has its whole rate, and the other one has the rest.
 */
#ifndef ALIQUOT_SIM_EXEC_ENGINE_H
#define ALIQUOT_SIM_EXEC_ENGINE_H

#include "common/atomic.h"
#include "sim/node/cell.h"
#include "sim/node/node.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define EXEC_SEATS 192
#define EXEC_NO_SEAT (-1)

enum exec_link { LINK_TO_DEVICE, LINK_TO_HOST, LINK_PEER, LINK_COUNT };

struct exec_seat {
        uint32_t is_taken;
        uint32_t row;         /* the process, as node_row_is_alive() expects it */
        uint32_t generation;  /* of that row */
        uint32_t want;        /* pieces of work under way; > 0: it takes its turn */
        uint64_t wanted_ns;   /* since when */
        uint64_t held_ns;     /* the clock, without the hold that runs now */
        uint64_t hold_end_ns; /* when its last hold ended */
};

/* The holder of the engine and the seats that want it: one record, see cell.h. */
struct exec_state {
        struct cell_head head;
        int32_t holder; /* a seat, or EXEC_NO_SEAT */
        int32_t last;   /* the last holder: another one waits for the switch */
        uint32_t high;  /* seats at and above were never used */
        uint64_t slice_ns, switch_ns;
        uint64_t hold_start_ns;
        uint64_t idle_since_ns;
        /* Seats with want > 0, except those that were skipped because their processes are
         * stopped. */
        uint64_t active[EXEC_SEATS / 64];
        struct exec_seat seat[EXEC_SEATS];
};

/* When each link has done all reserved copies: one record, because a copy uses two links. */
struct exec_links {
        struct cell_head head;
        uint64_t free_ns[LINK_COUNT];
};

/* Lies in node_device.exec; all zero is "not yet opened". */
struct exec_device {
        uint32_t is_open; /* guarded by the device's lock (node_device_lock) */
        /* Futex word, bumped whenever the holder changes. Any process. */
        _Atomic uint32_t turn;
        _Atomic uint32_t waiters;
        /* By seat: the estimated value of its clock when all queued work is done. */
        _Atomic uint64_t queued_clock[EXEC_SEATS];
        struct cell cell;
        struct exec_state state[CELL_COPIES];
        struct cell link_cell;
        struct exec_links links[CELL_COPIES];
};

_Static_assert(sizeof(struct exec_device) <= NODE_EXEC_BYTES, "the node keeps this much for us");

/* A context's place at a device. Belongs to one process. */
struct exec_place {
        struct exec_device *device;
        unsigned unit;
        int seat;
        _Atomic uint64_t reported_clock; /* how far node_busy_add() knows; any thread */
        _Atomic bool is_closing;         /* waits end early */
        const _Atomic int *error;        /* set if the context has failed */
};

/* The estimated work queued in a stream, from the piece under way on. Written by threads that queue
 * work, and by the stream's worker. */
struct exec_queue {
        _Atomic uint64_t clock; /* the seat's where that piece began */
        _Atomic uint64_t ns;
};

/* The end of the latest piece of a chain of work, by the wall clock and by the seat's clock. */
struct exec_mark {
        uint64_t end_ns;
        uint64_t end_clock;       /* meaningful while is_on */
        bool is_on;               /* the chain counts in the seat's `want` */
        struct exec_queue *queue; /* the work that follows; NULL: none */
};

/* Takes a seat; -EBUSY when all are taken. */
int exec_place_open(struct exec_place *place, unsigned unit);
void exec_place_close(struct exec_place *place);

/*
 * Occupies the engine for `ns`, not before `ready_ns`, and returns when that is over, with the mark
 * moved to the end. The chain keeps its seat until place_off(), so that work queued behind it runs
 * in the same slice. place_on() alone takes the engine for work whose length is known only at its
 * end.
 */
void place_on(struct exec_place *place, struct exec_mark *mark, uint64_t ready_ns);
void place_run(struct exec_place *place, struct exec_mark *mark, uint64_t ns);
void place_off(struct exec_place *place, struct exec_mark *mark);

/* Adds `ns` to the queued work. */
void place_promise(struct exec_place *place, struct exec_queue *queue, uint64_t ns);

/* link.c. Occupies a link for `ns`, or longer beside the other direction, not before `ready_ns`;
 * returns at the end, with the time of the end. */
uint64_t place_copy(struct exec_place *place, enum exec_link link, uint64_t ready_ns, uint64_t ns);

#endif
