/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of swap/block.h and swap/move.h: the tables of swappable blocks, and the mover. Wiped in a
 * forked child: state.h.
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

#define STATE_MOVES 3u /* maximum number of copies in flight at once */

/* Where the bytes of a segment are. */
enum segment_place {
        SEGMENT_HERE,
        SEGMENT_LEAVES, /* being copied out; still on the card */
        SEGMENT_AWAY,
        SEGMENT_COMES, /* being copied in; already has memory on the card */
};

/* A part of a block, with one physical allocation while it is on the card. Used by one thread at a
 * time: the thread that creates or frees the block, or the mover (move.h). */
struct swap_segment {
        struct table_link link; /* not in a table; key: the segment's address */
        struct swap_segment *next;
        uint64_t bytes;
        /* The physical allocation; 0: the segment is not on the card. */
        CUmemGenericAllocationHandle handle;
        /* Pinned host memory for the segment's bytes; NULL: it has not left the card yet. */
        void *host;
        enum segment_place place;
};

/* A swappable block. Complete before it is put into `spans`; after that only the contents of
 * `segments`, and `is_pinned`, change. */
struct swap_block {
        struct table_link link; /* not in a table; key: the block's address */
        uint64_t bytes;         /* size that the program requested */
        uint64_t span_bytes;    /* size that is charged */
        /* The block's buffer ID, as queries report it. */
        uint64_t id;
        CUcontext context;
        /* Number of the context. */
        uint32_t owner;
        CUdevice device;
        int row;
        struct swap_segment *segments;
        struct swap_channel *channel;
        /* Stays on the card for good, because a device outside of CUDA uses its physical memory. */
        bool is_pinned;
};

/* The stream and events for copying the blocks of a context. Created with the context's first
 * block. */
struct swap_channel {
        struct table_link link; /* key: the context's number */
        CUcontext context;
        CUstream stream;
        CUevent event[STATE_MOVES];
};

/* A move of one segment in flight. */
struct swap_move {
        struct swap_block *block;
        struct swap_segment *segment;
        CUevent event;
};

/* State of the mover. Only the mover uses it. */
struct swap_mover {
        /* Ring of the moves in flight: `count` of them, from index `first` on. */
        struct swap_move move[STATE_MOVES];
        unsigned first, count;
        bool is_inward; /* the moves in flight are copies to the card */
        /* Bytes of this process that are not on the card. */
        uint64_t away_bytes;
        uint64_t at; /* address from which the search for the next segment goes on */
        /* No move begins before this time; set after a failure. */
        uint64_t not_before_ns;
};

/* Whether the driver can map memory in the way that blocks need. */
enum swap_mapping { MAPPING_UNASKED, MAPPING_WORKS, MAPPING_FAILS };

struct swap_state {
        struct lock swap_lock; /* guards the tables and `spans` */
        struct spans spans;
        struct handle_table swap_blocks;
        struct handle_table swap_segments;
        struct handle_table swap_channels;
        _Atomic uint32_t swap_live; /* blocks in `spans` */
        /* enum swap_mapping; one value is enough, because a session that swaps has one GPU. */
        _Atomic uint32_t swap_mapping;

        struct swap_mover mover;
};

extern struct swap_state swap_state;

#endif
