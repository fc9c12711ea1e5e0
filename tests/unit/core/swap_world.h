/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that swap, on one card, as core/swap's caller and the library would have them: programs
 * allocate within their pages and wish for more, drain when held, and move bytes at the speed of a
 * link. Whatever a page allows is used at the worst moment: between a look and the next orders.
 *
 * After each look all invariants of core/swap.h are asserted, and that no program runs while memory
 * of it is out. One world at a time.
 */
#ifndef ALIQUOT_TEST_SWAP_WORLD_H
#define ALIQUOT_TEST_SWAP_WORLD_H

#include "core/swap.h"

#define WORLD_SESSIONS 12u
#define WORLD_MIB (UINT64_C(1) << 20)
#define WORLD_GIB (UINT64_C(1) << 30)
#define WORLD_MS UINT64_C(1000000)
#define WORLD_SECOND (1000 * WORLD_MS)

struct world_session {
        bool is_here;
        /* The program; the test sets these. */
        bool is_busy;      /* it would always run */
        uint64_t drain_ns; /* how long it takes; SWAP_NEVER: it does not */
        bool moves_nothing;
        uint64_t ask_bytes, ask_pinned_bytes; /* it waits for that */
        uint64_t fill_bytes, block_bytes;     /* it allocates fill_bytes before it works */
        uint64_t pinned_bytes, swappable_bytes;
        /* What comes of it. */
        uint64_t out_bytes;
        uint64_t drained_ns; /* when it will have drained; 0: it is not held */
        uint32_t gate;       /* that it is answering */
        uint64_t answered_ns, wished_ns;
        uint64_t refused, granted;  /* requests */
        uint64_t ran_ns, waited_ns; /* with its gate open; and for it, the last time */
        uint64_t longest_ns;        /* that it waited */
        uint64_t moved_bytes, turns;
        uint64_t held_moved_bytes, held_events; /* as they were when it was held */
        struct swap_order page;
};

struct world {
        struct swap swap;
        struct world_session session[WORLD_SESSIONS];
        uint64_t now_ns;
        uint64_t link_bytes; /* that move in a millisecond, each way */
        uint64_t segment_bytes;
        bool is_calm;        /* no hold is without sense: that is asserted */
        bool is_unasked;     /* the driver took pinned memory: some invariants do not hold */
        uint64_t turns;      /* gates that opened */
        uint64_t events;     /* what may be the sense of a hold: a turn, a block, an end */
        uint64_t stopped_ns; /* time in which somebody wanted to run, and nobody did */
};

extern struct world world;

void world_begin(uint64_t capacity_bytes);
struct world_session *world_add(unsigned entry, enum swap_class class, uint64_t swappable_bytes,
                                uint64_t pinned_bytes);
void world_remove(unsigned entry);
/* One look of the caller; then time passes until the next, in milliseconds. */
void world_look(uint64_t ns);
/* Looks as core/swap asks for them. */
void world_run(uint64_t ns);
bool world_is_open(unsigned entry);
uint64_t world_resident(const struct world_session *session);

#endif
