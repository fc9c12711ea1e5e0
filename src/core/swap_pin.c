/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits each session's memory and its pinned memory, so that every session can be brought in whole
 * beside the pinned bytes of all others.
 *
 * Let P be the sum of all pinned bytes and S the largest swappable memory of one session. Then the
 * sessions together may pin capacity - P - S more bytes. These bytes are given to the sessions'
 * wishes, in the order of the list. The remainder is split into headrooms, so that small blocks
 * need not wait. To raise one session's pinned limit takes two steps: first the limits of all
 * others are lowered; when each of the others was seen within its lower limit, the pinned limit is
 * raised.
 */
#include "core/swap_parts.h"

/* The largest headroom of a session: HEADROOM_MAX bytes, 1/HEADROOM_PART of the capacity, or an
 * even part of 1/HEADROOM_PART_ALL of the capacity, whichever is least. */
#define HEADROOM_MAX (256 * MIB)
#define HEADROOM_PART 64u
#define HEADROOM_PART_ALL 32u

struct pins {
        uint64_t pinned_bytes;  /* P: the bytes that all sessions have pinned */
        uint64_t left_bytes;    /* how much more all sessions may pin together */
        uint64_t may_pin_bytes; /* how much all sessions may pin by their old and new orders */
        unsigned tight; /* sessions that possibly hold more memory than their new limit allows */
        /* the index in swap->session of one of these sessions */
        uint16_t one_tight;
};

static uint64_t wish_of(const struct swap_session *session)
{
        return difference_of(session->seen.wished_pinned_bytes, pinned_of(session));
}

static void sum_up(const struct swap_look *look, struct pins *pins)
{
        uint64_t max_bytes = 0;

        for (unsigned i = 0; i < look->count; i++) {
                const struct swap_session *session = session_at(look, i);

                pins->pinned_bytes += pinned_of(session);
                max_bytes = max_u64(max_bytes, session->seen.swappable_bytes);
        }
        pins->left_bytes = difference_of(look->capacity_bytes, pins->pinned_bytes + max_bytes);
}

static void meet_wishes(const struct swap_look *look, struct pins *pins)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);
                uint64_t wish_bytes = wish_of(session);

                session->is_asked = wish_bytes && wish_bytes <= pins->left_bytes;
                session->target_bytes = pinned_of(session);
                if (session->is_asked) {
                        session->target_bytes += wish_bytes;
                        pins->left_bytes -= wish_bytes;
                }
        }
}

/* Adds a headroom to each session's target. A headroom that is about right stays unchanged,
 * because each change of an order wakes the session's threads. */
static void add_headroom(const struct swap_look *look, struct pins *pins)
{
        uint64_t even_bytes = pins->left_bytes / look->count;
        uint64_t headroom_bytes = min_u64(
                min_u64(HEADROOM_MAX, look->capacity_bytes / HEADROOM_PART),
                min_u64(look->capacity_bytes / HEADROOM_PART_ALL / look->count, even_bytes));

        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);
                uint64_t has_bytes =
                        difference_of(session->order.pinned_bytes, session->target_bytes);

                if (has_bytes < headroom_bytes / 2 ||
                    has_bytes > min_u64(even_bytes, 2 * headroom_bytes))
                        has_bytes = headroom_bytes;
                session->target_bytes += session->is_known ? has_bytes : 0;
        }
}

/* Sums up the bytes that all sessions may pin by their old and new orders. Returns false if a
 * session could not be brought in whole beside those bytes, so that no pinned limit may be raised
 * yet. */
static bool add_up(const struct swap_look *look, struct pins *pins)
{
        bool is_ready = true;

        pins->may_pin_bytes = 0;
        for (unsigned i = 0; i < look->count; i++) {
                const struct swap_session *session = session_at(look, i);

                pins->may_pin_bytes += max_u64(session->may_pin_bytes, session->target_bytes);
        }
        for (unsigned i = 0; i < look->count; i++) {
                const struct swap_session *session = session_at(look, i);

                is_ready &= pins->may_pin_bytes + session->seen.used_bytes -
                                    max_u64(session->may_pin_bytes, session->target_bytes) <=
                            look->capacity_bytes;
        }
        return is_ready;
}

static void raise_nothing(const struct swap_look *look)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                session->target_bytes = min_u64(session->target_bytes, session->order.pinned_bytes);
        }
}

static void limit_all(const struct swap_look *look, struct pins *pins)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);
                uint64_t others_bytes = pins->may_pin_bytes -
                                        max_u64(session->may_pin_bytes, session->target_bytes);

                session->order.max_bytes = difference_of(look->capacity_bytes, others_bytes);
                if (!session->is_known || others_bytes > look->capacity_bytes ||
                    session->may_use_bytes > session->order.max_bytes) {
                        pins->tight++;
                        pins->one_tight = look->list[i];
                }
                session->may_use_bytes = max_u64(session->may_use_bytes, session->order.max_bytes);
        }
}

static void set_pin_bounds(const struct swap_look *look, const struct pins *pins)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                if (session->target_bytes <= session->order.pinned_bytes || !pins->tight ||
                    (pins->tight == 1 && pins->one_tight == look->list[i]))
                        session->order.pinned_bytes = session->target_bytes;
                session->may_pin_bytes =
                        max_u64(session->may_pin_bytes, session->order.pinned_bytes);
        }
}

/* Sets `ret` to the bytes by which the session waits to grow. A wish that is refused counts as 0,
 * so that it takes no room from other sessions. */
static void see_growth(const struct swap_session *session, uint64_t *ret)
{
        uint64_t wish_bytes =
                max_u64(difference_of(session->seen.wished_resident_bytes, resident_of(session)),
                        wish_of(session));
        bool is_refused = (wish_of(session) && !session->is_asked) ||
                          session->seen.used_bytes + wish_bytes > session->order.max_bytes;

        *ret = is_refused ? 0 : wish_bytes;
}

void pins_decide(const struct swap_look *look)
{
        struct pins pins = { 0 };

        sum_up(look, &pins);
        meet_wishes(look, &pins);
        add_headroom(look, &pins);
        if (!add_up(look, &pins)) {
                raise_nothing(look);
                add_up(look, &pins);
        }
        limit_all(look, &pins);
        set_pin_bounds(look, &pins);
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                see_growth(session, &session->grow_bytes);
                session->is_asked &=
                        session->order.pinned_bytes < session->seen.wished_pinned_bytes;
                session->has_no_room =
                        pins.pinned_bytes + session->seen.swappable_bytes > look->capacity_bytes;
        }
}
