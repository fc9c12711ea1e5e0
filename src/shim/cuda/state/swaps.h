/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of swappable blocks (swap/block.h), and the state of the mover (swap/move.h). Wiped in
 * a forked child: state.h.
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

/* A part of a block: one physical allocation while it is on the card. Used by one thread at a time:
 * the thread that makes or frees the block, or the mover (move.h). */
struct swap_segment {
        struct table_link link; /* not in the table; key: its address */
        struct swap_segment *next;
        uint64_t bytes;
        CUmemGenericAllocationHandle handle; /* 0: it is away */
        void *host; /* pinned host memory for its bytes; NULL: it never left the card */
        enum segment_place place;
};

/* Complete before it is put into `spans`; after that only `segments` and `is_pinned` change. */
struct swap_block {
        struct table_link link; /* not in the table; key: its address */
        uint64_t bytes;         /* as asked for */
        uint64_t span_bytes;    /* as charged */
        uint64_t id;
        CUcontext context;
        uint32_t owner;
        CUdevice device;
        int row;
        struct swap_segment *segments;
        struct swap_channel *channel;
        bool is_pinned; /* for good: its physical memory is known outside of CUDA */
};

/* The stream and events that copy the blocks of a context. Made with the context's first block. */
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

/* Used by the mover alone. */
struct swap_mover {
        struct swap_move move[STATE_MOVES]; /* in flight: `count` of them, a ring from `first` on */
        unsigned first, count;
        bool is_inward; /* direction of the moves in flight */
        uint64_t away_bytes;
        uint64_t at; /* where the search for the next segment goes on */
        uint64_t not_before_ns;
};

/* Whether the driver can map memory as blocks need it. */
enum swap_mapping { MAPPING_UNASKED, MAPPING_WORKS, MAPPING_FAILS };

struct swap_state {
        struct lock swap_lock; /* guards the tables and `spans` */
        struct spans spans;
        struct handle_table swap_blocks;
        struct handle_table swap_segments;
        struct handle_table swap_channels;
        _Atomic uint32_t swap_live;    /* blocks in `spans` */
        _Atomic uint32_t swap_mapping; /* enum swap_mapping; a session that swaps has one GPU */

        struct swap_mover mover;
};

extern struct swap_state swap_state;

#endif
