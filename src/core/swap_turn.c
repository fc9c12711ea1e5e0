/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has a turn. The sessions are gone through kind by kind and class by class, as the table of
 * phases says, and each gets a turn that fits beside those before it and what all others cannot
 * move.
 *
 * So that a big session is not kept out by small ones that come and go: the first of a class that
 * waits and does not fit is *next*. After that, of its class only those come in that fit beside it
 * too, and beside those that came in since it began to wait; and no turn is renewed for longer than
 * it has to wait anyway. A session that would not fit alone, or beside the higher classes, is not
 * next.
 */
#include "core/swap_parts.h"

/* What must be left beside everything before a session comes in that wants nothing. */
#define MARGIN_PART 32u

#define BIT(class) (1u << (class))
#define LOW (BIT(SWAP_CLASS_NORMAL) | BIT(SWAP_CLASS_BATCH))
#define ALL (LOW | BIT(SWAP_CLASS_RT))

static const struct {
        uint8_t kind, classes;
} phases[] = {
        { SWAP_FORCED, ALL },
        { SWAP_KEEPS, BIT(SWAP_CLASS_RT) },
        { SWAP_WAITS, BIT(SWAP_CLASS_RT) },
        { SWAP_OVER, BIT(SWAP_CLASS_RT) },
        { SWAP_KEEPS, LOW },
        { SWAP_WAITS, BIT(SWAP_CLASS_NORMAL) },
        { SWAP_OVER, BIT(SWAP_CLASS_NORMAL) },
        { SWAP_WAITS, BIT(SWAP_CLASS_BATCH) },
        { SWAP_OVER, BIT(SWAP_CLASS_BATCH) },
        { SWAP_IDLE, ALL },
        { SWAP_RESTS, ALL },
};

struct turns {
        uint64_t held_bytes; /* of those with a turn all, with growth, and the floors of others */
        uint64_t first_ns[SWAP_CLASS_RT + 1]; /* since when the first of a class waits for a turn */
        uint64_t floor_bytes;                 /* of all */
        uint64_t sum_bytes;                   /* with what those need that were placed */
        uint64_t all_bytes;                   /* what all would need */
        bool is_change;
        /* By class: who is next, and the sum when it comes in. */
        const struct swap_session *next[SWAP_CLASS_RT + 1];
        uint64_t next_bytes[SWAP_CLASS_RT + 1];
};

static uint64_t turn_of(const struct swap_card *card)
{
        return min_u64(max_u64(product_of(card->cost_ns, SWAP_TURN_COSTS), SWAP_TURN_LEAST_NS),
                       SWAP_TURN_MOST_NS);
}

/* Turns change once for all: none is over while others still change, and those that would be soon
 * after another one are over with it. */
static bool is_over(const struct swap_look *look, const struct swap_session *session,
                    uint64_t early_ns)
{
        return !is_shut(session) && !look->card->change_ns &&
               sum_of(look->now_ns - session->turn_ns, early_ns) >= turn_of(look->card);
}

static enum swap_kind kind_of(const struct swap_look *look, const struct swap_session *session)
{
        uint64_t idle_ns = max_u64(SWAP_IDLE_LEAST_NS, look->card->cost_ns / 2);

        if (session->stuck_ns)
                return session->has_turn ? SWAP_FORCED : SWAP_BARRED;
        if (!session->has_turn)
                return is_wanting(session) ? SWAP_WAITS : SWAP_RESTS;
        if (session->idle_ns && look->now_ns - session->idle_ns >= idle_ns)
                return SWAP_IDLE;
        return is_over(look, session, 0) ? SWAP_OVER : SWAP_KEEPS;
}

static void end_together(const struct swap_look *look)
{
        bool is_any_over = false;

        for (unsigned i = 0; i < look->count; i++)
                is_any_over |= look_at(look, i)->kind == SWAP_OVER;
        for (unsigned i = 0; i < look->count && is_any_over; i++) {
                struct swap_session *session = look_at(look, i);

                if (session->kind == SWAP_KEEPS && is_over(look, session, look->card->cost_ns))
                        session->kind = SWAP_OVER;
        }
}

static void see_all(const struct swap_look *look, struct turns *turns)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = look_at(look, i);
                uint64_t *first_ns = &turns->first_ns[session->class];

                session->kind = (uint8_t)kind_of(look, session);
                session->is_placed = session->is_cramped = false;
                session->need_bytes = session->seen.used_bytes + session->grow_bytes;
                turns->floor_bytes += floor_of(session);
                turns->all_bytes += session->need_bytes;
                turns->held_bytes +=
                        session->has_turn ? session->seen.used_bytes : floor_of(session);
                if (session->kind == SWAP_WAITS && (!*first_ns || session->waits_ns < *first_ns))
                        *first_ns = session->waits_ns;
        }
        turns->sum_bytes = turns->floor_bytes;
}

/* Those that run may grow where nobody with a turn has anything. One that came out of turn does so
 * in the order of those that wait. */
static void grow_all(const struct swap_look *look, struct turns *turns)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = look_at(look, i);
                uint64_t first_ns = turns->first_ns[session->class];

                if (!session->has_turn || !session->grow_bytes)
                        continue;
                if ((session->is_out_of_turn && first_ns && first_ns <= session->given_ns) ||
                    turns->held_bytes + session->grow_bytes > look->capacity_bytes) {
                        session->is_cramped = true;
                        session->need_bytes = session->seen.used_bytes;
                } else {
                        turns->held_bytes += session->grow_bytes;
                }
        }
}

static uint64_t more_of(const struct swap_session *session)
{
        return session->need_bytes - floor_of(session);
}

static void place(struct turns *turns, struct swap_session *session)
{
        session->is_placed = true;
        turns->sum_bytes += more_of(session);
}

/* It came in out of turn, after `next` began to wait, and must not be in its way. */
static bool is_beside(const struct swap_session *session, const struct swap_session *next)
{
        return session->kind == SWAP_KEEPS && session->is_out_of_turn &&
               session->given_ns >= next->waits_ns;
}

static void be_next(const struct swap_look *look, struct turns *turns,
                    const struct swap_session *session)
{
        uint64_t sum_bytes = turns->floor_bytes + more_of(session);
        uint64_t higher_bytes = sum_bytes;

        for (unsigned i = 0; i < look->count; i++) {
                const struct swap_session *other = look_at(look, i);

                if (!other->is_placed)
                        continue;
                if (other->class > session->class || other->kind == SWAP_FORCED)
                        higher_bytes += more_of(other);
                else if (is_beside(other, session))
                        sum_bytes += more_of(other);
        }
        if (higher_bytes > look->capacity_bytes)
                return;
        turns->next[session->class] = session;
        turns->next_bytes[session->class] =
                sum_bytes + (higher_bytes - turns->floor_bytes) - more_of(session);
}

static void place_new(const struct swap_look *look, struct turns *turns,
                      struct swap_session *session)
{
        const struct swap_session *next = turns->next[session->class];
        uint64_t *next_bytes = &turns->next_bytes[session->class];

        if (turns->sum_bytes + more_of(session) > look->capacity_bytes) {
                if (!next)
                        be_next(look, turns, session);
                return;
        }
        if (next && *next_bytes + more_of(session) > look->capacity_bytes)
                return;
        if (next)
                *next_bytes += more_of(session);
        place(turns, session);
        session->given_ns = look->now_ns;
        session->is_out_of_turn = next;
        turns->is_change = true;
}

/* A turn is over: what it wished for in vain is asked for now, like a turn. */
static void place_grown(const struct swap_look *look, struct turns *turns,
                        struct swap_session *session)
{
        session->need_bytes = session->seen.used_bytes + session->grow_bytes;
        place_new(look, turns, session);
        if (session->is_placed) {
                session->turn_ns = look->now_ns;
                session->kind = SWAP_KEEPS;
                session->is_cramped = false;
        } else {
                session->need_bytes = session->seen.used_bytes;
        }
}

/* A turn is not over: it may grow in its order, where nobody with a turn has anything. */
static void grow_late(const struct swap_look *look, struct turns *turns,
                      struct swap_session *session)
{
        uint64_t bytes = session->grow_bytes;
        bool has_next = turns->next[session->class];
        uint64_t *next_bytes = &turns->next_bytes[session->class];

        if (turns->held_bytes + bytes > look->capacity_bytes ||
            turns->sum_bytes + bytes > look->capacity_bytes ||
            (has_next && *next_bytes + bytes > look->capacity_bytes))
                return;
        turns->held_bytes += bytes;
        turns->sum_bytes += bytes;
        *next_bytes += has_next ? bytes : 0;
        session->need_bytes += bytes;
        session->is_cramped = false;
}

/* One that would not fit alone is only sent away for others: nothing is gained else. */
static void place_again(const struct swap_look *look, struct turns *turns,
                        struct swap_session *session)
{
        bool fits = turns->sum_bytes + more_of(session) <= look->capacity_bytes;
        bool fits_alone = turns->floor_bytes + more_of(session) <= look->capacity_bytes;

        if (fits || (!fits_alone && !turns->is_change))
                place(turns, session);
}

static void place_one(const struct swap_look *look, struct turns *turns, unsigned kind,
                      struct swap_session *session)
{
        if (kind == SWAP_WAITS && session->is_cramped && session->is_placed)
                grow_late(look, turns, session);
        else if (kind == SWAP_WAITS && session->is_cramped && session->kind == SWAP_OVER)
                place_grown(look, turns, session);
        if (session->is_placed || session->kind != kind)
                return;
        if (kind == SWAP_FORCED)
                place(turns, session);
        else if (kind == SWAP_WAITS || kind == SWAP_RESTS)
                place_new(look, turns, session);
        else
                place_again(look, turns, session);
}

/* When those have their turns behind them for which `next` has to wait anyway. */
static uint64_t latest_turn(const struct swap_look *look, const struct swap_session *next)
{
        uint64_t latest_ns = 0;

        for (unsigned i = 0; i < look->count; i++) {
                const struct swap_session *session = look_at(look, i);

                if (!session->is_placed || session->kind != SWAP_KEEPS || is_beside(session, next))
                        continue;
                latest_ns = max_u64(latest_ns, is_shut(session) ? look->now_ns : session->turn_ns);
        }
        return latest_ns;
}

static void renew(const struct swap_look *look, const struct turns *turns)
{
        uint64_t turn_ns = look->now_ns;

        for (unsigned class = SWAP_CLASS_RT + 1; class -- > 0;) {
                if (turns->next[class])
                        turn_ns = min_u64(turn_ns, latest_turn(look, turns->next[class]));
                for (unsigned i = 0; i < look->count; i++) {
                        struct swap_session *session = look_at(look, i);

                        if (session->class != class || !session->is_placed ||
                            session->kind != SWAP_OVER)
                                continue;
                        session->turn_ns = max_u64(session->turn_ns, turn_ns);
                        if (turn_ns == look->now_ns) {
                                session->given_ns = look->now_ns;
                                session->is_out_of_turn = false;
                        }
                }
        }
}

void turns_decide(const struct swap_look *look)
{
        struct turns turns = { 0 };

        see_all(look, &turns);
        end_together(look);
        grow_all(look, &turns);
        look->card->is_short = turns.all_bytes > look->capacity_bytes;
        for (unsigned p = 0; p < sizeof(phases) / sizeof(phases[0]); p++) {
                if (phases[p].kind == SWAP_RESTS &&
                    turns.all_bytes + look->capacity_bytes / MARGIN_PART > look->capacity_bytes)
                        break;
                for (unsigned i = 0; i < look->count; i++) {
                        struct swap_session *session = look_at(look, i);

                        if (phases[p].classes & BIT(session->class))
                                place_one(look, &turns, phases[p].kind, session);
                }
        }
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = look_at(look, i);

                turns.is_change |= session->has_turn != session->is_placed;
                session->has_turn = session->is_placed;
        }
        if (turns.is_change)
                renew(look, &turns);
}
