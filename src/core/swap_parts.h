/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of core/swap share, and nobody else.
 *
 *      swap.c          a step: sessions come, are seen, and go; gates shut and open
 *      swap_pin.c      how much each may have at all, and pinned; what it may grow by
 *      swap_turn.c     who has a turn
 *      swap_room.c     how much each may have on the card
 *
 * Each part decides anew at each step from what was seen, so no decision is ever planned and
 * overtaken. What a session may have done since it was seen is kept beside that (may_*_bytes).
 */
#ifndef ALIQUOT_CORE_SWAP_PARTS_H
#define ALIQUOT_CORE_SWAP_PARTS_H

#include "common/minmax.h"
#include "common/sums.h"
#include "core/swap.h"

/* More than any card has. Sums of as many as there are sessions stay within 64 bits. */
#define BYTES_MOST (UINT64_C(1) << 50)
#define MIB (UINT64_C(1) << 20)

/* In the order of their kind: see swap_turn.c. */
enum swap_kind {
        SWAP_FORCED, /* stuck, and whole: it runs */
        SWAP_KEEPS,  /* it has a turn that is not over */
        SWAP_WAITS,  /* it has none, and wants one */
        SWAP_OVER,   /* its turn is over, if others want it */
        SWAP_IDLE,   /* the same, for want of work */
        SWAP_RESTS,  /* it has no turn, and wants none */
        SWAP_BARRED, /* stuck in part out: it is left alone */
};

/* A step's look at one card and its sessions. */
struct swap_look {
        struct swap *swap;
        struct swap_card *card;
        uint16_t *list;
        unsigned count;
        uint64_t now_ns;
        uint64_t capacity_bytes;
};

static inline struct swap_session *look_at(const struct swap_look *look, unsigned i)
{
        return &look->swap->session[look->list[i]];
}

static inline uint64_t less_by(uint64_t a, uint64_t b)
{
        return a > b ? a - b : 0;
}

static inline uint64_t resident_of(const struct swap_session *session)
{
        return session->seen.used_bytes - session->seen.out_bytes;
}

static inline uint64_t pinned_of(const struct swap_session *session)
{
        return session->seen.used_bytes - session->seen.swappable_bytes;
}

static inline bool is_shut(const struct swap_session *session)
{
        return session->state != SWAP_RUNS;
}

/* What stays on the card while it has no turn. */
static inline uint64_t floor_of(const struct swap_session *session)
{
        return session->stuck_ns ? resident_of(session) : pinned_of(session);
}

static inline bool is_wanting(const struct swap_session *session)
{
        return session->seen.is_busy || session->grow_bytes > 0;
}

void pins_decide(const struct swap_look *look);
/* The list is in the order of rank. */
void turns_decide(const struct swap_look *look);
void rooms_decide(const struct swap_look *look);

#endif
