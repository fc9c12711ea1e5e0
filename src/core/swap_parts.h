/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the files of core/swap.
 *
 *      swap.c          runs a step: takes what was seen, calls the others, shuts and opens gates
 *      swap_pin.c      limits each session's memory, its pinned memory, and its growth
 *      swap_turn.c     decides which sessions have a turn
 *      swap_room.c     decides how much memory each session may have on the card
 *
 * Each step decides everything anew from what was seen, so there are no plans that could become
 * outdated. may_*_bytes are the bytes that a session may have taken since it was seen.
 */
#ifndef ALIQUOT_CORE_SWAP_PARTS_H
#define ALIQUOT_CORE_SWAP_PARTS_H

#include "common/minmax.h"
#include "common/sums.h"
#include "core/swap.h"

/* More than any card has. The sum over all sessions fits into 64 bits. */
#define BYTES_MAX (UINT64_C(1) << 50)
#define MIB (UINT64_C(1) << 20)

/* How the decision about turns classifies a session, see swap_turn.c. */
enum swap_kind {
        SWAP_FORCED, /* stuck, with all its memory on the card: it runs */
        SWAP_KEEPS,  /* its turn lasts */
        SWAP_WAITS,  /* it waits for a turn; or its turn is over, and it waits to grow */
        SWAP_OVER,   /* its turn is over if another session wants the room */
        SWAP_IDLE,   /* its turn is over because it is idle, if another session wants the room */
        SWAP_RESTS,  /* it has no turn, and wants none */
        SWAP_BARRED, /* stuck, with memory in the host: it is left alone */
};

/* One card and its sessions, during a step. */
struct swap_look {
        struct swap *swap;
        struct swap_card *card;
        uint16_t *list;
        unsigned count;
        uint64_t now_ns;
        uint64_t capacity_bytes;
};

static inline struct swap_session *session_at(const struct swap_look *look, unsigned i)
{
        return &look->swap->session[look->list[i]];
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

/* Bytes that stay on the card while the session has no turn. */
static inline uint64_t floor_bytes_of(const struct swap_session *session)
{
        return session->stuck_ns ? resident_of(session) : pinned_of(session);
}

static inline bool is_wanting(const struct swap_session *session)
{
        return session->seen.is_busy || session->grow_bytes > 0;
}

void pins_decide(const struct swap_look *look);
/* The list must be sorted: by class, then by how long each session waits. */
void turns_decide(const struct swap_look *look);
void rooms_decide(const struct swap_look *look);

#endif
