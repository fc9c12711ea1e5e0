/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how much memory each session may have on the card. A session with a turn may have all
 * that it needs, and a headroom, so that growth seldom waits. A session without a turn keeps its
 * bytes on the card until a session with a turn needs the room. Sessions that wait may move in
 * advance into room that is left over.
 *
 * First each session gets a target, and all targets together fit on the card. Then orders above
 * their targets are lowered, and orders below their targets are raised. They are raised only into
 * room that is free even if each session has used its old order since it was seen. So one session
 * moves in as another moves out.
 */
#include "core/swap_parts.h"

/* The sum of all headrooms while memory is short: HEADROOM_MIN bytes or 1/HEADROOM_PART of the
 * capacity, whichever is more, but at most 1/HEADROOM_PART_MAX of the capacity. */
#define HEADROOM_MIN (256 * MIB)
#define HEADROOM_PART 16u
#define HEADROOM_PART_MAX 8u

struct rooms {
        uint64_t need_bytes;   /* sum of the needs of sessions with a turn */
        uint64_t target_bytes; /* sum of the targets of sessions with a turn */
        uint64_t kept_bytes;   /* bytes on the card of sessions without a turn */
        /* bytes that no order gives away yet */
        uint64_t free_bytes;
        unsigned turns; /* number of sessions that have a turn */
};

static void rooms_begin(const struct swap_look *look, struct rooms *rooms)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                session->target_bytes =
                        session->has_turn ? session->need_bytes : resident_of(session);
                *(session->has_turn ? &rooms->need_bytes : &rooms->kept_bytes) +=
                        session->target_bytes;
                rooms->turns += session->has_turn;
        }
}

/* Lowers the targets of sessions without a turn until all targets fit. The last session of the
 * list will wait longest for its turn, so it moves out first. */
static void take_deficit(const struct swap_look *look, struct rooms *rooms)
{
        uint64_t deficit_bytes =
                difference_of(rooms->need_bytes + rooms->kept_bytes, look->capacity_bytes);

        for (unsigned i = look->count; i-- > 0 && deficit_bytes;) {
                struct swap_session *session = session_at(look, i);
                uint64_t bytes;

                if (session->has_turn)
                        continue;
                bytes = min_u64(deficit_bytes, session->target_bytes - floor_bytes_of(session));
                session->target_bytes -= bytes;
                rooms->kept_bytes -= bytes;
                deficit_bytes -= bytes;
        }
}

static uint64_t headroom_of(const struct swap_look *look, const struct rooms *rooms)
{
        uint64_t capacity_bytes = look->capacity_bytes;
        uint64_t all_bytes = difference_of(capacity_bytes, rooms->need_bytes + rooms->kept_bytes);

        if (rooms->turns < look->count)
                all_bytes = min_u64(all_bytes,
                                    min_u64(max_u64(HEADROOM_MIN, capacity_bytes / HEADROOM_PART),
                                            capacity_bytes / HEADROOM_PART_MAX));
        return rooms->turns ? all_bytes / rooms->turns : 0;
}

/* Adds headrooms to the targets of sessions with a turn. If all have enough room, each keeps its
 * order: room of memory that a session has freed is left for its next block. */
static void add_headroom(const struct swap_look *look, struct rooms *rooms)
{
        uint64_t headroom_bytes = headroom_of(look, rooms), told_bytes = 0;
        bool is_enough = true;

        for (unsigned i = 0; i < look->count; i++) {
                const struct swap_session *session = session_at(look, i);

                if (!session->has_turn)
                        continue;
                told_bytes += session->order.resident_bytes;
                is_enough &=
                        session->order.resident_bytes >= session->need_bytes + headroom_bytes / 2;
        }
        is_enough &= told_bytes + rooms->kept_bytes <= look->capacity_bytes;
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                if (!session->has_turn)
                        continue;
                session->target_bytes = is_enough ? session->order.resident_bytes
                                                  : session->need_bytes + headroom_bytes;
                rooms->target_bytes += session->target_bytes;
        }
}

static void add_advance(const struct swap_look *look, const struct rooms *rooms)
{
        uint64_t left_bytes =
                difference_of(look->capacity_bytes, rooms->target_bytes + rooms->kept_bytes);

        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);
                uint64_t bytes;

                if (session->kind != SWAP_WAITS || session->has_turn || session->state != SWAP_HELD)
                        continue;
                bytes = min_u64(left_bytes, session->seen.used_bytes - session->target_bytes);
                session->target_bytes += bytes;
                left_bytes -= bytes;
        }
}

/* Lowers orders to their targets, and computes the bytes that are free. A session that has not
 * drained is not told to move: some of its processes cannot move yet, and the others would move
 * more than their share. */
static void lower_all(const struct swap_look *look, struct rooms *rooms)
{
        rooms->free_bytes = look->capacity_bytes;
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);
                uint64_t target_bytes = session->target_bytes;

                if (session->state != SWAP_HELD)
                        target_bytes = max_u64(target_bytes, resident_of(session));
                if (!session->is_known)
                        session->order.resident_bytes = session->ordered_bytes =
                                resident_of(session);
                session->order.resident_bytes =
                        min_u64(session->order.resident_bytes, target_bytes);
                rooms->free_bytes = difference_of(rooms->free_bytes, session->may_reside_bytes);
        }
}

/* Raises the session's order to `bytes`, as far as there is free room. Bytes that were on the card
 * without an order's permission do not raise the order: a library charges a request before it is
 * admitted, and that charge may be seen here. */
static void raise_to(struct rooms *rooms, struct swap_session *session, uint64_t bytes)
{
        uint64_t more_bytes =
                min_u64(rooms->free_bytes, difference_of(bytes, session->ordered_bytes));

        if (!session->is_known || bytes <= session->order.resident_bytes)
                return;
        rooms->free_bytes -= more_bytes;
        session->ordered_bytes += more_bytes;
        session->order.resident_bytes = min_u64(bytes, session->ordered_bytes);
        session->may_reside_bytes =
                max_u64(session->may_reside_bytes, session->order.resident_bytes);
}

/* Raises orders to their targets. Running sessions grow first. Then the sessions are brought in
 * one after the other, so that the first one may run soon. */
static void raise_all(const struct swap_look *look, struct rooms *rooms)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                if (session->has_turn && !is_shut(session))
                        raise_to(rooms, session, session->need_bytes);
        }
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                if (session->has_turn)
                        raise_to(rooms, session, session->need_bytes);
        }
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                if (session->has_turn)
                        raise_to(rooms, session, session->target_bytes);
        }
        for (unsigned i = 0; i < look->count; i++)
                raise_to(rooms, session_at(look, i), session_at(look, i)->target_bytes);
}

void rooms_decide(const struct swap_look *look)
{
        struct rooms rooms = { 0 };

        rooms_begin(look, &rooms);
        take_deficit(look, &rooms);
        add_headroom(look, &rooms);
        add_advance(look, &rooms);
        lower_all(look, &rooms);
        raise_all(look, &rooms);
}
