/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which sessions of a card have a turn. Sessions are placed one after the other, in the
 * order of the table `phases`: kind by kind and class by class. Each session gets a turn if it fits
 * beside the sessions placed before it and beside the bytes that the others cannot move.
 *
 * All turns of a card end at the same time, so one clock (card.turn_ns) serves all of them. While
 * it runs, a session that waits is brought in only where it fits beside the turns that go on. When
 * it has run out, the sessions that wait are placed first, the longest wait first, so a big session
 * is never kept out by small ones that come and go. The clock starts again when a session is
 * brought in after the clock has run out, or when the session that has waited longest is brought in
 * before that. Each start admits a session that no later one can overtake, so no session waits for
 * more starts than there are sessions.
 */
#include "core/swap_parts.h"

/* This part of the capacity stays free when a session that wants nothing is brought in. */
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
        unsigned most;  /* how many sessions may have a turn at the same time */
        unsigned count; /* number of placed sessions, without stuck ones */
        /* sum of the bytes of all sessions that stay on the card in any case */
        uint64_t floor_bytes;
        uint64_t sum_bytes; /* floor_bytes, and what the placed sessions need beyond their floors */
        uint64_t all_bytes; /* sum of the needs of all sessions */
        bool is_over;       /* the clock of the turns has run out */
        bool is_passed;     /* a session that waits, for a turn or to grow, did not fit */
        bool has_come;      /* a session that waited was placed */
        bool starts;        /* the clock of the turns starts again */
};

static uint64_t turn_ns_of(const struct swap_look *look)
{
        const struct swap_card *card = look->card;

        if (look->swap->rules.turn_ns)
                return look->swap->rules.turn_ns;
        return min_u64(max_u64(product_of(card->cost_ns, SWAP_TURN_COSTS), SWAP_TURN_MIN_NS),
                       SWAP_TURN_MAX_NS);
}

/* Whether the clock of the turns has run out. It stands still during the change that started it. */
static bool is_turn_over(const struct swap_look *look)
{
        const struct swap_card *card = look->card;

        return look->swap->rules.mode != SWAP_PARALLEL &&
               !(card->change_ns && card->turn_ns >= card->change_ns) &&
               look->now_ns - card->turn_ns >= turn_ns_of(look);
}

/* Returns for how long an idle session keeps its turn. To wait as long as a change takes costs
 * at most twice the optimum, whatever the length of the pause. A session whose last pause was
 * longer than that is expected to pause as long again, so its turn ends after SWAP_IDLE_MIN_NS. */
static uint64_t patience_of(const struct swap_look *look, const struct swap_session *session)
{
        uint64_t cost_ns = look->card->cost_ns;

        return session->pause_ns > cost_ns ? SWAP_IDLE_MIN_NS : max_u64(SWAP_IDLE_MIN_NS, cost_ns);
}

static enum swap_kind kind_of(const struct swap_look *look, const struct turns *turns,
                              const struct swap_session *session)
{
        if (session->stuck_ns)
                return session->has_turn ? SWAP_FORCED : SWAP_BARRED;
        if (!session->has_turn)
                return is_wanting(session) ? SWAP_WAITS : SWAP_RESTS;
        if (session->idle_ns && look->now_ns - session->idle_ns >= patience_of(look, session))
                return SWAP_IDLE;
        if (is_shut(session) || !turns->is_over)
                return SWAP_KEEPS;
        return session->grow_bytes ? SWAP_WAITS : SWAP_OVER;
}

static void see_all(const struct swap_look *look, struct turns *turns)
{
        turns->is_over = is_turn_over(look);
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                session->kind = (uint8_t)kind_of(look, turns, session);
                session->is_placed = false;
                session->need_bytes = session->seen.used_bytes;
                turns->floor_bytes += floor_bytes_of(session);
                turns->all_bytes += session->seen.used_bytes + session->grow_bytes;
        }
        turns->sum_bytes = turns->floor_bytes;
}

/* Whether the session can do nothing because all of its threads wait for memory. */
static bool is_stopped(const struct swap_session *session)
{
        return !is_shut(session) && session->grow_bytes && !session->seen.is_busy;
}

/* Returns what the session needs beyond the bytes that stay on the card anyway. */
static uint64_t more_of(const struct swap_session *session)
{
        return session->need_bytes - floor_bytes_of(session);
}

static bool fits_on_card(const struct swap_look *look, const struct turns *turns, uint64_t bytes)
{
        return turns->sum_bytes + bytes <= look->capacity_bytes;
}

/* Whether a session that needs `bytes` more may have a turn beside the placed sessions. */
static bool may_come(const struct swap_look *look, const struct turns *turns, uint64_t bytes)
{
        return turns->count < turns->most && fits_on_card(look, turns, bytes);
}

static void place_session(struct turns *turns, struct swap_session *session)
{
        session->is_placed = true;
        turns->count += session->kind != SWAP_FORCED;
        turns->sum_bytes += more_of(session);
}

/* Places a session that waits for a turn, or to grow after its turn. It is brought in only with
 * the memory that it wants. */
static void place_new(const struct swap_look *look, struct turns *turns,
                      struct swap_session *session)
{
        if (!may_come(look, turns, more_of(session) + session->grow_bytes)) {
                turns->is_passed = true;
                return;
        }
        session->need_bytes += session->grow_bytes;
        place_session(turns, session);
        turns->has_come = true;
        turns->starts |= turns->is_over || !turns->is_passed;
}

/* Places a session that has a turn, if it still fits. A session that would not even fit alone
 * loses its turn only if another one is brought in; otherwise nothing is gained. */
static void place_again(const struct swap_look *look, struct turns *turns,
                        struct swap_session *session)
{
        bool fits_alone = turns->floor_bytes + more_of(session) <= look->capacity_bytes;

        if (turns->count >= turns->most)
                return;
        if (fits_on_card(look, turns, more_of(session)) || (!fits_alone && !turns->has_come))
                place_session(turns, session);
}

static void place_one(const struct swap_look *look, struct turns *turns, unsigned kind,
                      struct swap_session *session)
{
        if (kind == SWAP_FORCED)
                place_session(turns, session);
        else if (kind == SWAP_WAITS || kind == SWAP_RESTS)
                place_new(look, turns, session);
        else if (kind != SWAP_KEEPS || !is_stopped(session))
                place_again(look, turns, session);
}

/* Lets a session whose turn goes on grow into memory that no other lasting turn uses. If the
 * session is stopped and cannot grow, its turn is over. */
static void grow_session(const struct swap_look *look, struct turns *turns,
                         struct swap_session *session)
{
        bool is_placed = session->is_placed;
        uint64_t bytes = session->grow_bytes + (is_placed ? 0 : more_of(session));

        if (!is_placed && !is_stopped(session))
                return;
        if (is_placed ? fits_on_card(look, turns, bytes) : may_come(look, turns, bytes)) {
                session->need_bytes += session->grow_bytes;
                session->is_placed = true;
                turns->count += !is_placed;
                turns->sum_bytes += bytes;
        } else {
                session->kind = is_placed ? session->kind : SWAP_WAITS;
                turns->is_passed |= is_placed;
        }
}

/* Whether phase `p` places the session. A session that has a turn and waits to grow is also
 * placed in a phase of SWAP_OVER: it may keep its turn without growing. */
static bool is_in_phase(const struct swap_session *session, unsigned p)
{
        bool stays = session->kind == SWAP_WAITS && session->has_turn;

        return (phases[p].classes & BIT(session->class)) &&
               (session->kind == phases[p].kind || (phases[p].kind == SWAP_OVER && stays));
}

static void place_all(const struct swap_look *look, struct turns *turns, unsigned p)
{
        for (unsigned i = 0; i < look->count; i++) {
                if (is_in_phase(session_at(look, i), p) && !session_at(look, i)->is_placed)
                        place_one(look, turns, phases[p].kind, session_at(look, i));
        }
        if (phases[p].kind != SWAP_FORCED && phases[p].kind != SWAP_KEEPS)
                return;
        for (unsigned i = 0; i < look->count; i++) {
                if (is_in_phase(session_at(look, i), p) && session_at(look, i)->grow_bytes)
                        grow_session(look, turns, session_at(look, i));
        }
}

/* Gives and takes turns as placed. Returns whether any session gets or loses its turn. */
static bool apply(const struct swap_look *look)
{
        bool is_change = false;

        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                is_change |= session->has_turn != session->is_placed;
                session->has_turn = session->is_placed;
        }
        return is_change;
}

void turns_decide(const struct swap_look *look)
{
        struct swap_card *card = look->card;
        struct turns turns = { .most = look->swap->rules.mode == SWAP_SERIAL ? 1 : SWAP_SESSIONS };

        see_all(look, &turns);
        card->is_short = turns.all_bytes > look->capacity_bytes || look->count > turns.most;
        for (unsigned p = 0; p < sizeof(phases) / sizeof(phases[0]); p++) {
                if (phases[p].kind == SWAP_RESTS &&
                    turns.all_bytes + look->capacity_bytes / MARGIN_PART > look->capacity_bytes)
                        break;
                place_all(look, &turns, p);
        }
        if (!apply(look))
                return;
        if (turns.starts)
                card->turn_ns = look->now_ns;
        if (card->change_ns)
                return;
        card->change_ns = look->now_ns;
        card->has_moved = false;
}
