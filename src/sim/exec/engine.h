/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines of one device, in memory that all processes share: the compute engine, with the
 * context that uses it now, and the copy engines (links).
 *
 * Compute: each context that gives work gets a *seat*, its entry in the table of users of the
 * engine. One of the seats that have work is the holder, and only its work runs. When other seats
 * have work too, the holder has the engine for one slice; then the next seat follows (round robin,
 * like the time slicing of hardware). Work of one context overlaps freely. No process is in charge:
 * any thread that waits and finds that the slice is over makes the next seat the holder. A process
 * may thus stop or die at any point without stopping the others. A stopped process keeps its turns
 * until the work that it had queued is done; then it is skipped until it continues.
 *
 * Time is computed, not observed. A seat's *clock* counts the ns for which it was the holder. Work
 * that starts at clock c and takes d ends when the clock shows c + d, however late the thread that
 * waits for it wakes up. Starts, slices and changes of the holder are dated back accordingly. A
 * backlog of short kernels therefore has no gaps, and shares are exact although sleeping on the
 * host is not.
 *
 * Links (copy engines): copies are served in the order of their reservations. The two directions
 * between host and device together reach `duplex` percent of one direction's rate: while both are
 * busy, the copy that was reserved first has its whole rate, and the other copy has the rest.
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
        uint32_t row;        /* row of the process in the node's table, for node_row_is_alive() */
        uint32_t generation; /* generation of that row */
        /* number of operations under way; while it is above 0, the seat gets turns */
        uint32_t want;
        uint64_t wanted_ns; /* time since which `want` is above 0 */
        uint64_t held_ns;   /* the seat's clock, without the time since it last became the holder */
        uint64_t hold_end_ns; /* time at which it was last the holder */
};

/* The holder of the engine and the seats with work. They are one record, so that they change
 * together (see cell.h). */
struct exec_state {
        struct cell_head head;
        int32_t holder; /* the seat that has the engine now, or EXEC_NO_SEAT */
        /* the previous holder; any other seat must first wait for the context switch */
        int32_t last;
        uint32_t high; /* seats with this index or a higher one were never used */
        uint64_t slice_ns, switch_ns;
        uint64_t hold_start_ns;
        uint64_t idle_since_ns;
        /* Bit set of the seats with want > 0, without those that are skipped because their process
         * is stopped. */
        uint64_t active[EXEC_SEATS / 64];
        struct exec_seat seat[EXEC_SEATS];
};

/* For each link, the time at which its reserved copies are all done. All links are one record,
 * because one copy can use two links. */
struct exec_links {
        struct cell_head head;
        uint64_t free_ns[LINK_COUNT];
};

/* The engines of one device; stored in node_device.exec. All zero means "not yet opened". */
struct exec_device {
        uint32_t is_open; /* guarded by the device's lock (node_device_lock) */
        /* Futex word: incremented, by any process, whenever the holder changes. */
        _Atomic uint32_t turn;
        _Atomic uint32_t waiters;
        /* For each seat: the estimated value of its clock when all its queued work is done. */
        _Atomic uint64_t queued_clock[EXEC_SEATS];
        struct cell cell;
        struct exec_state state[CELL_COPIES];
        struct cell link_cell;
        struct exec_links links[CELL_COPIES];
};

_Static_assert(sizeof(struct exec_device) <= NODE_EXEC_BYTES, "the node keeps this much for us");

/* A context's seat at a device. Belongs to one process. */
struct exec_place {
        struct exec_device *device;
        unsigned unit;
        int seat;
        /* the clock up to which node_busy_add() has counted; written by any thread */
        _Atomic uint64_t reported_clock;
        _Atomic bool is_closing;  /* set when the context closes: all waits end early */
        const _Atomic int *error; /* points to a value that is not 0 once the context has failed */
};

/* The estimated work queued in a stream, from the operation that runs now on. Written by threads
 * that queue work, and by the stream's worker. */
struct exec_queue {
        _Atomic uint64_t clock; /* value of the seat's clock when the current operation started */
        _Atomic uint64_t ns;
};

/* The end of the latest operation of a stream or another sequence of operations, as wall-clock time
 * and by the seat's clock. */
struct exec_mark {
        uint64_t end_ns;
        uint64_t end_clock;       /* the seat's clock at that time; meaningful while is_on */
        bool is_on;               /* the sequence is counted in the seat's `want` */
        struct exec_queue *queue; /* estimate of the work that follows in the stream; NULL: none */
};

/* Gives `place` a seat at the device. -EBUSY: all seats are taken. */
int exec_place_open(struct exec_place *place, unsigned unit);
void exec_place_close(struct exec_place *place);

/*
 * place_run() occupies the compute engine for `ns`, from `ready_ns` or later. It returns when that
 * time is over, and sets the mark to its end. The seat keeps its claim until place_off(), so that
 * the next operation of the sequence runs in the same slice. place_on() only waits for the engine,
 * for work whose length is known when it ends.
 */
void place_on(struct exec_place *place, struct exec_mark *mark, uint64_t ready_ns);
void place_run(struct exec_place *place, struct exec_mark *mark, uint64_t ns);
void place_off(struct exec_place *place, struct exec_mark *mark);

/* Adds `ns` to the estimate of the queued work. */
void place_promise(struct exec_place *place, struct exec_queue *queue, uint64_t ns);

/* In link.c. Occupies a link for `ns`, or longer if the opposite direction is busy, from `ready_ns`
 * or later. Waits for the end of the copy and returns that time. */
uint64_t place_copy(struct exec_place *place, enum exec_link link, uint64_t ready_ns, uint64_t ns);

#endif
