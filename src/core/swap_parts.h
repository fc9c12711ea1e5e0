/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the files of core/swap.
 *
 *      swap.c          runs a step: records what was seen, calls the other files, closes and opens
 * gates swap_pin.c      limits each session's memory, its pinned memory, and its growth swap_turn.c
 * decides which sessions have a turn swap_room.c     decides how much memory each session may have
 * on the card
 *
 * Each step decides everything anew from the latest data of the sessions, so there are no plans
 * that could become outdated. The fields may_*_bytes are the bytes that a session may have
 * allocated since it was last seen.
 */
#ifndef ALIQUOT_CORE_SWAP_PARTS_H
#define ALIQUOT_CORE_SWAP_PARTS_H

#include "common/minmax.h"
#include "common/sums.h"
#include "core/swap.h"

/* An upper bound for any size: more than any card has, and small enough that the sum over all
 * sessions fits into 64 bits. */
#define BYTES_MAX (UINT64_C(1) << 50)
#define MIB (UINT64_C(1) << 20)

/* The class in which swap_turn.c puts a session when it decides about turns. */
enum swap_kind {
        SWAP_FORCED, /* the session is stuck with all its memory on the card: it runs */
        SWAP_KEEPS,  /* the session's turn goes on */
        SWAP_WAITS,  /* the session waits for a turn; or its turn is over, and it waits to grow */
        SWAP_OVER,   /* the session's turn is over if another session wants the room */
        SWAP_IDLE,   /* the session is idle: its turn is over if another session wants the room */
        SWAP_RESTS,  /* the session has no turn and wants none */
        /* the session is stuck with memory in the host: it is not brought in until its next try */
        SWAP_BARRED,
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

/* Returns the bytes that stay on the card while the session has no turn. */
static inline uint64_t floor_bytes_of(const struct swap_session *session)
{
        return session->stuck_ns ? resident_of(session) : pinned_of(session);
}

static inline bool is_wanting(const struct swap_session *session)
{
        return session->seen.is_busy || session->grow_bytes > 0;
}

void pins_decide(const struct swap_look *look);
/* The sessions in look->list must be sorted: by class, then by how long each session waits. */
void turns_decide(const struct swap_look *look);
void rooms_decide(const struct swap_look *look);

#endif
