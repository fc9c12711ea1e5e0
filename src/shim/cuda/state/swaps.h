/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of memory that can leave the card (swap/block.h), and what moves them (swap/move.h). Wiped
 * in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_SWAPS_H
#define ALIQUOT_SHIM_CUDA_STATE_SWAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "common/atomic.h"
#include "shim/cuda/state/table.h"
#include "shim/lock.h"
#include "shim/spans.h"

#define STATE_MOVES 3u /* copies in flight at once */

enum segment_place {
        SEGMENT_HERE,
        SEGMENT_LEAVES, /* being copied out: still on the card */
        SEGMENT_AWAY,
        SEGMENT_COMES, /* being copied in: on the card already */
};

/* A piece of a block: one allocation of the driver's while it is on the card. Who makes and frees
 * blocks, or else the mover, alone (move.h). */
struct swap_segment {
        struct table_link link; /* outside of the table; key: its address */
        struct swap_segment *next;
        uint64_t bytes;
        CUmemGenericAllocationHandle handle; /* 0: away */
        void *host; /* where its bytes are when it is away; NULL: not yet */
        enum segment_place place;
};

/* Written before it is put into `spans`; then all but `segments` and `is_pinned` stays. */
struct swap_block {
        struct table_link link; /* outside of the table; key: its address */
        uint64_t bytes;         /* as asked for */
        uint64_t span_bytes;    /* as charged */
        uint64_t id;
        CUcontext context;
        uint32_t owner;
        CUdevice device;
        int row;
        struct swap_segment *segments;
        struct swap_channel *channel;
        bool is_pinned; /* for good: others know where it is */
};

/* By which the blocks of a context are copied. Made with the first of them, gone with the context.
 */
struct swap_channel {
        struct table_link link; /* key: the context's number */
        CUcontext context;
        CUstream stream;
        CUevent event[STATE_MOVES];
};

struct swap_move {
        struct swap_block *block;
        struct swap_segment *segment;
        CUevent event;
};

/* The mover's alone. */
struct swap_mover {
        struct swap_move move[STATE_MOVES];
        unsigned first, count;
        bool is_inward; /* those that are in flight */
        uint64_t away_bytes;
        uint64_t at; /* where the search for the next segment goes on */
        uint64_t not_before_ns;
};

struct swap_state {
        struct lock swap_lock; /* guards the tables and `spans` */
        struct spans spans;
        struct handle_table swap_blocks;
        struct handle_table swap_segments;
        struct handle_table swap_channels;
        _Atomic uint32_t swap_live;      /* blocks in `spans` */
        _Atomic uint32_t swap_is_barred; /* the driver cannot map memory */

        struct swap_mover mover;
};

extern struct swap_state swap_state;

#endif
