/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a step: updates the state of each session from what was seen (whether it drained or got
 * stuck), lets the files named in swap_parts.h decide for each card, then closes and opens gates.
 *
 * A step cannot fail. A session whose drain or move does not end in time becomes stuck, and other
 * sessions no longer wait for it.
 */
#include "core/swap_parts.h"

/* Bytes beyond all orders that have stayed for this time count as permanent. */
#define BEYOND_STAYS_NS UINT64_C(1000000000)

/* -- The list of sessions --------------------------------------------------------------------- */

/* Returns the key by which sessions of one class are sorted. Sessions that wait come before those
 * that have a turn, the longest wait first. Of sessions with a turn the latest one comes first, so
 * that it leaves last when all turns end. */
static uint64_t key_of(const struct swap_session *session)
{
        if (session->waits_ns)
                return session->waits_ns;
        return SWAP_NEVER - session->turn_ns;
}

static bool is_before(const struct swap_session *a, const struct swap_session *b)
{
        bool rests_a = !a->has_turn && !a->waits_ns, rests_b = !b->has_turn && !b->waits_ns;

        if (a->card != b->card)
                return a->card < b->card;
        if (rests_a != rests_b)
                return rests_b;
        if (a->class != b->class)
                return a->class > b->class;
        return key_of(a) < key_of(b);
}

/* Sorts a part of the list by insertion, since it is nearly in order already. */
static void sort_list(struct swap *swap, unsigned first, unsigned count)
{
        uint16_t *list = swap->list + first;

        for (unsigned i = 1; i < count; i++) {
                uint16_t entry = list[i];
                unsigned to = i;

                while (to > 0 && is_before(&swap->session[entry], &swap->session[list[to - 1]])) {
                        list[to] = list[to - 1];
                        to--;
                }
                list[to] = entry;
        }
}

void swap_add(struct swap *swap, unsigned entry, unsigned card, enum swap_class class,
              uint32_t gate)
{
        swap->session[entry] = (struct swap_session){
                .state = gate ? SWAP_DRAINS : SWAP_RUNS,
                .card = (uint8_t)card,
                .class = (uint8_t) class,
                .has_turn = !gate,
                .order.gate = gate,
                .turn_ns = swap->now_ns,
                .shut_ns = swap->now_ns,
                .patience_ns = SWAP_STUCK_MIN_NS,
                .may_reside_bytes = BYTES_MAX,
        };
        swap->gates = max_u32(swap->gates, gate);
        swap->entries = max_u32(swap->entries, entry + 1);
        swap->list[swap->count++] = (uint16_t)entry;
        sort_list(swap, 0, swap->count);
        swap->next_ns = swap->now_ns;
}

void swap_remove(struct swap *swap, unsigned entry)
{
        unsigned at = 0;

        while (swap->list[at] != entry)
                at++;
        for (swap->count--; at < swap->count; at++)
                swap->list[at] = swap->list[at + 1];
        swap->session[entry] = (struct swap_session){ 0 };
        swap->next_ns = swap->now_ns;
}

/* The list keeps its order until the next step sorts it. */
void swap_rank(struct swap *swap, unsigned entry, enum swap_class class)
{
        swap->session[entry].class = (uint8_t) class;
}

/* Updates ordered_bytes after the session was seen. Bytes beyond all orders are a charge that the
 * session's library is about to give back or, if they stay, memory that the driver allocated on
 * its own. */
static void note_ordered(struct swap_session *session, uint64_t now_ns)
{
        uint64_t resident_bytes = resident_of(session);

        session->ordered_bytes = max_u64(session->order.resident_bytes,
                                         min_u64(resident_bytes, session->ordered_bytes));
        if (resident_bytes <= session->ordered_bytes)
                session->beyond_ns = 0;
        else if (!session->beyond_ns)
                session->beyond_ns = now_ns;
        else if (now_ns - session->beyond_ns >= BEYOND_STAYS_NS)
                session->ordered_bytes = resident_bytes;
}

void swap_see(struct swap *swap, unsigned entry, const struct swap_seen *seen)
{
        struct swap_session *session = &swap->session[entry];
        struct swap_seen *now = &session->seen;
        uint64_t out_bytes = now->out_bytes;

        *now = *seen;
        now->used_bytes = min_u64(now->used_bytes, BYTES_MAX);
        now->swappable_bytes = min_u64(now->swappable_bytes, now->used_bytes);
        now->out_bytes = min_u64(now->out_bytes, now->swappable_bytes);
        now->wished_resident_bytes = min_u64(now->wished_resident_bytes, BYTES_MAX);
        now->wished_pinned_bytes = min_u64(now->wished_pinned_bytes, BYTES_MAX);
        session->may_pin_bytes = max_u64(pinned_of(session), session->order.pinned_bytes);
        session->may_use_bytes = max_u64(now->used_bytes, session->order.max_bytes);
        session->is_whole = now->out_bytes == 0 && session->order.resident_bytes >= now->used_bytes;
        if (!session->is_told)
                return;
        session->is_known = true;
        session->may_reside_bytes = max_u64(resident_of(session), session->order.resident_bytes);
        note_ordered(session, swap->now_ns);
        out_bytes =
                difference_of(now->out_bytes, out_bytes) + difference_of(out_bytes, now->out_bytes);
        session->moved_bytes = sum_of(session->moved_bytes, out_bytes);
        session->moves_bytes = sum_of(session->moves_bytes, out_bytes);
        swap->card[session->card].has_moved |= out_bytes > 0;
}

/* -- States ----------------------------------------------------------------------------------- */

static void get_stuck(struct swap *swap, struct swap_session *session)
{
        session->stuck_ns = sum_of(swap->now_ns, session->patience_ns);
        session->since_ns = session->since_ns ? session->since_ns : swap->now_ns;
        session->patience_ns = min_u64(2 * session->patience_ns, SWAP_STUCK_MAX_NS);
        session->has_turn = session->seen.out_bytes == 0;
        swap->card[session->card].change_ns = 0;
}

/* Whether the session must move memory, out or in. It need not move memory in before its order
 * allows all of its memory: segments are large, and the last one may not fit yet. */
static bool should_move(const struct swap_session *session)
{
        uint64_t told_bytes = max_u64(session->order.resident_bytes, pinned_of(session));

        if (!session->has_turn)
                return resident_of(session) > told_bytes;
        return session->seen.out_bytes > 0 && told_bytes >= session->seen.used_bytes;
}

static void move_on(struct swap *swap, struct swap_session *session, uint64_t elapsed_ns)
{
        uint64_t now_ns = swap->now_ns;

        session->held_ns += is_shut(session) ? elapsed_ns : 0;
        if (session->stuck_ns && now_ns >= session->stuck_ns) {
                session->stuck_ns = 0;
                session->shut_ns = now_ns;
        }
        if (session->state == SWAP_DRAINS && session->seen.is_drained) {
                session->state = SWAP_HELD;
                session->shut_ns = now_ns;
                session->since_ns = 0;
        }
        if (session->state == SWAP_HELD &&
            (session->moves_bytes >= SWAP_MOVE_MIN_BYTES || !should_move(session))) {
                session->shut_ns = now_ns;
                session->moves_bytes = 0;
                if (!session->stuck_ns)
                        session->since_ns = 0;
        }
        if (is_shut(session) && !session->stuck_ns &&
            now_ns - session->shut_ns >=
                    (session->state == SWAP_DRAINS ? SWAP_DRAIN_MAX_NS : SWAP_MOVE_MAX_NS))
                get_stuck(swap, session);
        session->is_overdue = session->since_ns && now_ns - session->since_ns >= SWAP_OVERDUE_NS;
}

/* Notes since when each session has been idle, and since when it has waited. A session that waits
 * to grow keeps its rank until all of its wish is met. Otherwise room would go to one session,
 * then to another, and be enough for neither. */
static void note_wants(const struct swap_look *look)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                if (is_wanting(session)) {
                        if (session->idle_ns)
                                session->pause_ns = look->now_ns - session->idle_ns;
                        session->idle_ns = 0;
                } else if (!session->idle_ns) {
                        session->idle_ns = look->now_ns;
                }
                if (!is_shut(session) ? !session->grow_bytes : !is_wanting(session))
                        session->waits_ns = 0;
                else if (!session->waits_ns)
                        session->waits_ns = look->now_ns;
        }
}

/* -- Gates ------------------------------------------------------------------------------------ */

static void gate_shut(const struct swap_look *look, struct swap_session *session)
{
        struct swap *swap = look->swap;

        swap->gates += swap->gates == UINT32_MAX ? 2 : 1;
        session->state = SWAP_DRAINS;
        session->order.gate = swap->gates;
        session->seen.is_drained = false;
        session->shut_ns = look->now_ns;
        session->turn_ns = 0;
        session->waits_ns = is_wanting(session) ? look->now_ns : 0;
        session->holds++;
}

static void gate_open(const struct swap_look *look, struct swap_session *session)
{
        session->state = SWAP_RUNS;
        session->order.gate = 0;
        session->waits_ns = 0;
        if (session->stuck_ns)
                return; /* the session's turn was over before it got stuck */
        session->turn_ns = look->now_ns;
        session->patience_ns = SWAP_STUCK_MIN_NS;
}

static void gates_move(const struct swap_look *look)
{
        for (unsigned i = 0; i < look->count; i++) {
                struct swap_session *session = session_at(look, i);

                session->is_whole &= session->order.resident_bytes >= session->seen.used_bytes;
                if (!is_shut(session) && !session->has_turn)
                        gate_shut(look, session);
                else if (is_shut(session) && session->has_turn && session->is_whole)
                        gate_open(look, session);
                if (!is_shut(session) && !session->stuck_ns)
                        session->since_ns = 0;
        }
}

/* Whether the present change must wait for this session: the session is to run but does not yet,
 * lacks room that it needs, or has not moved out what it must. */
static bool is_changing(const struct swap_session *session)
{
        if (!session->has_turn)
                return !session->stuck_ns && should_move(session);
        return is_shut(session) || session->order.resident_bytes < session->need_bytes;
}

/* Ends the change if no session is changing any more. The duration of a change that moved no bytes
 * is not recorded, because it says nothing about the cost. */
static void change_end(const struct swap_look *look)
{
        struct swap_card *card = look->card;

        if (!card->change_ns)
                return;
        for (unsigned i = 0; i < look->count; i++) {
                if (is_changing(session_at(look, i)))
                        return;
        }
        if (card->has_moved) {
                card->cost_ns = look->now_ns - card->change_ns;
                card->changes++;
        }
        if (card->turn_ns >= card->change_ns)
                card->turn_ns = look->now_ns;
        card->change_ns = 0;
}

/* -- A step ----------------------------------------------------------------------------------- */

/* Whether another session may be waiting for this one, so that the next poll is due soon.
 * `before`: the session's order before this step. */
static bool is_moving(const struct swap_session *session, const struct swap_order *before)
{
        return session->state == SWAP_DRAINS || session->is_asked ||
               session->order.resident_bytes != before->resident_bytes ||
               session->order.max_bytes != before->max_bytes ||
               session->order.pinned_bytes != before->pinned_bytes || !session->is_known ||
               (session->has_turn &&
                (is_shut(session) || session->order.resident_bytes < session->need_bytes)) ||
               (session->state == SWAP_HELD && should_move(session));
}

static void card_step(const struct swap_look *look)
{
        bool is_busy = false;
        uint64_t after_ns;

        pins_decide(look);
        note_wants(look);
        sort_list(look->swap, (unsigned)(look->list - look->swap->list), look->count);
        turns_decide(look);
        rooms_decide(look);
        gates_move(look);
        change_end(look);
        for (unsigned i = 0; i < look->count; i++) {
                is_busy |= is_moving(session_at(look, i), &session_at(look, i)->before);
                session_at(look, i)->is_told = true;
        }
        after_ns = is_busy                ? SWAP_LOOK_BUSY_NS
                   : look->card->is_short ? SWAP_LOOK_SHORT_NS
                                          : SWAP_LOOK_QUIET_NS;
        look->swap->next_ns = min_u64(look->swap->next_ns, sum_of(look->now_ns, after_ns));
}

void swap_step(struct swap *swap, uint64_t now_ns)
{
        uint64_t elapsed_ns = difference_of(now_ns, swap->now_ns);

        swap->now_ns = max_u64(now_ns, swap->now_ns);
        swap->next_ns = SWAP_NEVER;
        for (unsigned i = 0; i < swap->count; i++) {
                struct swap_session *session = &swap->session[swap->list[i]];

                session->before = session->order;
                move_on(swap, session, elapsed_ns);
        }
        for (unsigned first = 0, end; first < swap->count; first = end) {
                uint8_t card = swap->session[swap->list[first]].card;
                struct swap_look look = { .swap = swap,
                                          .card = &swap->card[card],
                                          .list = swap->list + first,
                                          .now_ns = swap->now_ns };

                look.capacity_bytes = min_u64(look.card->capacity_bytes, BYTES_MAX);
                for (end = first; end < swap->count; end++) {
                        if (swap->session[swap->list[end]].card != card)
                                break;
                }
                look.count = end - first;
                card_step(&look);
        }
}

uint64_t swap_next_ns(const struct swap *swap)
{
        return swap->count ? swap->next_ns : SWAP_NEVER;
}
