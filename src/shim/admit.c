/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See admit.h.
 */
#include "shim/admit.h"

#include <limits.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "shim/bank.h"

/* A lease that is written right now is read again; the writer may have died at it. */
#define LEASE_LOOKS 64u
#define LEASE_LOOK_NS UINT64_C(50000)
/* How soon a full window or an empty bank is looked at again, whoever rings. */
#define WINDOW_LOOK_LEAST_NS UINT64_C(50000)
#define WINDOW_LOOK_MOST_NS UINT64_C(5000000)
#define BANK_LOOK_NS UINT64_C(5000000)
/* A quarter of the bucket fills in half of this. */
#define BANK_PATIENCE_NS UINT64_C(10000000)
/* Who stands before a closed gate says so again, or the scheduler forgets it. */
#define LEASE_WAIT_NS UINT64_C(10000000)
/* It looks by itself at who had something in flight; who comes after a pause rings all the same. */
#define WANT_PAUSE_NS UINT64_C(200000000)
/* Who has just had the turn leaves the others so long to take it. */
#define STAND_BACK_NS UINT64_C(500000)
/* Who has the turn gives it up when its work is measured; so much later it ends by the clock, for
 * the dead and for what took longer than anybody thought. */
#define TURN_SLACK_NS UINT64_C(5000000)
/* No turn lasts longer, whatever the page says. */
#define TURN_MOST_NS UINT64_C(2000000000)
/* active_at_ns is raised so often, and silence for so long is a pause. */
#define ACTIVE_STEP_NS UINT64_C(500000)
#define ACTIVE_PAUSE_NS UINT64_C(5000000)
/* Others had the device for at least so long. */
#define BEGIN_PAUSE_NS UINT64_C(1000000)
/* The most that is owed for work under leases alone. */
#define LEASED_FLOOR_NS INT64_C(-10000000000)

#define US_NS UINT64_C(1000)

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
        return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Was it within `within_ns` of now? Times ahead of us are a neighbour's now. */
static bool is_recent(uint64_t at_ns, uint64_t within_ns, uint64_t now_ns)
{
        return at_ns && (at_ns > now_ns ? at_ns - now_ns : now_ns - at_ns) < within_ns;
}

/* -- What holds ------------------------------------------------------------------------------- */

/* A scheduler speaks. */
static bool is_watched(const struct admit *admit, uint64_t now_ns)
{
        uint64_t spoke_ns = load_acquire(shared_word(&admit->limits->scheduler_at_ns));

        return is_recent(spoke_ns, PAGE_SCHEDULER_SILENT_NS, now_ns);
}

/* False: it is being written. */
static bool read_lease(const struct page_lease *lease, struct terms *ret)
{
        for (unsigned i = 0; i < LEASE_LOOKS; i++) {
                uint32_t turn = load_acquire(shared_half(&lease->turn));
                struct terms terms = *ret;

                terms.turn = turn;
                terms.mode = load_acquire(shared_half(&lease->mode));
                terms.end_ns = load_acquire(shared_word(&lease->end_ns));
                terms.target_ns = load_acquire(shared_word(&lease->target_ns));
                if (!(turn & 1) && load_acquire(shared_half(&lease->turn)) == turn) {
                        *ret = terms;
                        return true;
                }
        }
        return false;
}

/* Ours, or the scheduler's if that is less: beside `rt` what is in flight delays who answers. */
static uint64_t free_target(const struct terms *terms)
{
        uint64_t ours_ns = terms_are_loose(terms) ? ADMIT_LOOSE_NS : ADMIT_TARGET_NS;

        return terms->target_ns ? least(terms->target_ns, ours_ns) : ours_ns;
}

struct terms admit_terms(const struct admit *admit, uint64_t now_ns)
{
        const struct page_lease *lease = &admit->device->lease;
        struct terms terms = {
                .cap_ppm = page_cap_ppm(admit->limits, admit->device),
                .is_watched = is_watched(admit, now_ns),
                .is_daemons = admit->limits->owner == PAGE_OWNER_DAEMON,
                .turn = load_acquire(shared_half(&lease->turn)),
        };

        if (terms.is_watched && !read_lease(lease, &terms))
                terms.mode = PAGE_MODE_CLOSED;
        terms.is_excused = terms.mode == PAGE_MODE_CLOSED && terms.target_ns;
        if (!terms.is_watched || terms.mode > PAGE_MODE_CLOSED)
                terms.mode = PAGE_MODE_FREE;
        if (terms.mode == PAGE_MODE_FREE || !terms.target_ns)
                terms.target_ns = free_target(&terms);
        return terms;
}

bool admit_is_shared(const struct admit *admit, uint64_t began_ns, uint64_t now_ns)
{
        return began_ns < load_acquire(shared_word(&admit->device->lease.shared_until_ns)) &&
               is_watched(admit, now_ns);
}

/* -- Ringing ---------------------------------------------------------------------------------- */

static void ring(const struct admit *admit)
{
        add_acq_rel(shared_half(&admit->slots->bell), 1);
        clock_wake(shared_half(&admit->slots->bell), INT_MAX);
}

/* Who wants something after a pause rings, and whoever does while the scheduler takes it that
 * nobody does: until it says otherwise, so nothing is lost between the two. */
static void want(const struct admit *admit, const struct terms *terms, uint64_t now_ns)
{
        _Atomic uint64_t *wanted = shared_word(&admit->meter->wanted_at_ns);
        uint64_t before_ns = load_relaxed(wanted);
        bool is_noted = terms->mode == PAGE_MODE_CLOSED && terms->end_ns;
        bool is_new = is_noted || !is_recent(before_ns, WANT_PAUSE_NS, now_ns);

        store_release(wanted, now_ns);
        if (is_new)
                ring(admit);
}

void admit_note_active(const struct admit *admit, uint64_t now_ns)
{
        _Atomic uint64_t *active = shared_word(&admit->meter->active_at_ns);
        uint64_t at_ns = load_relaxed(active);

        if (is_recent(at_ns, ACTIVE_STEP_NS, now_ns))
                return;
        store_release(active, now_ns);
        if (!is_recent(at_ns, ACTIVE_PAUSE_NS, now_ns))
                ring(admit);
}

void admit_note_done(const struct admit *admit, uint64_t done_ns)
{
        store_release(shared_word(&admit->meter->done_at_ns), done_ns);
}

/* -- Turns of the session's processes --------------------------------------------------------- */

static uint64_t turn_word(const struct admit *admit, uint64_t until_ns)
{
        return (until_ns / US_NS) << PAGE_TURN_TIME_SHIFT | PAGE_TURN_TAKEN | admit->slot;
}

/* When to look again at what is in flight. */
static uint64_t drain_look_ns(const struct admit_ask *ask)
{
        uint64_t look_ns = least(ask->look_ns, WINDOW_LOOK_MOST_NS);

        return look_ns > WINDOW_LOOK_LEAST_NS ? look_ns : WINDOW_LOOK_LEAST_NS;
}

/* It is free at once, and who waits for it hears of it. */
static void give_up_turn(const struct admit *admit, uint64_t turn)
{
        if (!cas_acq_rel(shared_word(&admit->meter->turn), &turn, turn & ~PAGE_TURN_TAKEN))
                return;
        add_acq_rel(shared_half(&admit->meter->turn_bell), 1);
        clock_wake(shared_half(&admit->meter->turn_bell), INT_MAX);
}

/* The turn is ours and over, and others want one: when to ask again. */
static uint64_t stand_back(const struct admit *admit, const struct admit_ask *ask, uint64_t turn,
                           uint64_t now_ns)
{
        if (ask->in_flight_ns)
                return now_ns + drain_look_ns(ask);
        if (turn & PAGE_TURN_TAKEN)
                give_up_turn(admit, turn);
        return now_ns + STAND_BACK_NS;
}

/* A turn was taken. One that follows another of the session at once is of the same lease. */
static void note_begin(const struct admit *admit, bool was_taken, uint64_t now_ns)
{
        uint64_t active_ns = load_relaxed(shared_word(&admit->meter->active_at_ns));

        if (!was_taken && !is_recent(active_ns, BEGIN_PAUSE_NS, now_ns))
                store_release(shared_word(&admit->meter->began_at_ns), now_ns);
}

/* Until when it is ours; 0: it is another's, or is left to others, until *ret_until_ns. */
static uint64_t take_turn(const struct admit *admit, const struct admit_ask *ask, uint64_t now_ns,
                          uint64_t *ret_until_ns)
{
        _Atomic uint64_t *word = shared_word(&admit->meter->turn);
        uint64_t need_ns = sum(ask->in_flight_ns, ask->piece_ns);
        uint64_t length_ns = least(need_ns > ADMIT_TURN_NS ? need_ns : ADMIT_TURN_NS, TURN_MOST_NS);
        uint64_t turn = load_acquire(word);

        for (;;) {
                uint64_t until_ns = page_turn_until_ns(turn);
                bool is_mine = (turn & PAGE_TURN_SLOT) == admit->slot;
                bool is_on = (turn & PAGE_TURN_TAKEN) && until_ns > now_ns &&
                             until_ns - now_ns <= TURN_MOST_NS + TURN_SLACK_NS;

                if (is_on && is_mine && sum(need_ns, TURN_SLACK_NS) <= until_ns - now_ns)
                        return until_ns - TURN_SLACK_NS;
                *ret_until_ns = until_ns;
                if (is_on && !is_mine)
                        return 0;
                if (is_mine && (is_on || !ask->has_stood_back) && (turn & PAGE_TURN_WANTED)) {
                        *ret_until_ns = stand_back(admit, ask, turn, now_ns);
                        return 0;
                }
                until_ns = now_ns + length_ns;
                if (cas_acq_rel(word, &turn, turn_word(admit, until_ns + TURN_SLACK_NS))) {
                        note_begin(admit, is_on, now_ns);
                        return until_ns;
                }
        }
}

/* Who has no turn to give up has told it before, or takes none. */
void admit_yield(const struct admit *admit, uint64_t now_ns)
{
        uint64_t turn = load_acquire(shared_word(&admit->meter->turn));
        bool is_mine = (turn & PAGE_TURN_TAKEN) && (turn & PAGE_TURN_SLOT) == admit->slot;

        if (is_mine)
                give_up_turn(admit, turn);
        if (is_mine || admit->slot >= PAGE_SLOTS) {
                struct terms terms = admit_terms(admit, now_ns);

                if (terms.is_watched && !terms.is_excused)
                        ring(admit);
        }
}

/* -- Asking ----------------------------------------------------------------------------------- */

/* From the bank. Under a lease the scheduler keeps the cap: it knows when the session had no turn.
 */
static bool must_pay(const struct terms *terms)
{
        return terms->cap_ppm != PAGE_WHOLE_PPM && terms->mode != PAGE_MODE_OPEN;
}

/* Under a lease the scheduler keeps the cap by an account of its own, which knows when others were
 * on the device at the same time; ours does not, so what it makes of that is bounded. */
static void charge(const struct admit *admit, const struct terms *terms, uint64_t now_ns,
                   int64_t ns)
{
        int64_t floor_ns = terms->mode == PAGE_MODE_FREE ? BANK_FLOOR_NS : LEASED_FLOOR_NS;

        if (ns && terms->cap_ppm != PAGE_WHOLE_PPM)
                bank_charge_down_to(admit->meter, terms->cap_ppm, now_ns, ns, floor_ns);
}

static struct admit_answer wait_for(enum admit_reason reason, const struct terms *terms,
                                    const uint32_t *word, uint64_t deadline_ns)
{
        return (struct admit_answer){ .reason = reason,
                                      .terms = *terms,
                                      .word = shared_half(word),
                                      .seen = load_acquire(shared_half(word)),
                                      .deadline_ns = deadline_ns };
}

/* Launches begin before the end; what is in flight then may outlast it, by the target or by one
 * long piece. The scheduler lets the next session in when it is over, so the device never stands
 * still. */
static bool is_leased(const struct terms *terms, uint64_t now_ns)
{
        return terms->mode == PAGE_MODE_FREE ||
               (terms->mode == PAGE_MODE_OPEN && now_ns < terms->end_ns);
}

/* The lease is over: who waits for this process need not wait for it to wake up and say that it is
 * done, if it is known when that will be. */
static void end_turn_by(const struct admit *admit, uint64_t done_ns)
{
        uint64_t turn = load_acquire(shared_word(&admit->meter->turn));
        uint64_t mine = PAGE_TURN_TAKEN | admit->slot;
        uint64_t sooner = turn_word(admit, done_ns) | (turn & PAGE_TURN_WANTED);

        if ((turn & (PAGE_TURN_TAKEN | PAGE_TURN_SLOT)) == mine &&
            page_turn_until_ns(turn) > done_ns + PAGE_TURN_LATE_NS &&
            cas_acq_rel(shared_word(&admit->meter->turn), &turn, sooner))
                ring(admit);
}

/* The word is the one that was read with the terms: what changed since ends the wait at once. */
static struct admit_answer wait_for_lease(const struct admit *admit, const struct terms *terms,
                                          const struct admit_ask *ask, uint64_t now_ns)
{
        uint64_t wait_ns = ask->in_flight_ns ? drain_look_ns(ask) : LEASE_WAIT_NS;
        struct admit_answer answer =
                wait_for(ADMIT_LEASE, terms, &admit->device->lease.turn, now_ns + wait_ns);

        answer.seen = terms->turn;
        if (ask->is_sure && ask->left_ns && terms->is_watched)
                end_turn_by(admit, now_ns + page_turn_rest_ns(ask->left_ns));
        if (terms->turn & 1)
                answer.deadline_ns = now_ns + LEASE_LOOK_NS;
        want(admit, terms, now_ns);
        return answer;
}

/* Tells who had the last turn to stand back; that is not oneself. */
static void want_turn(const struct admit *admit)
{
        _Atomic uint64_t *word = shared_word(&admit->meter->turn);
        uint64_t turn = load_acquire(word);

        while ((turn & PAGE_TURN_SLOT) != admit->slot && !(turn & PAGE_TURN_WANTED) &&
               !cas_acq_rel(word, &turn, turn | PAGE_TURN_WANTED))
                ;
}

/* The processes that wait for the bank wake together: who had the last turn lets the others go. */
static struct admit_answer wait_for_bank(const struct admit *admit, const struct terms *terms,
                                         uint64_t now_ns, uint64_t due_ns)
{
        if (admit->slot < PAGE_SLOTS)
                want_turn(admit);
        bank_charge(admit->meter, terms->cap_ppm, now_ns, 0); /* what the cap gave until now */
        return wait_for(ADMIT_BANK, terms, &admit->limits->epoch,
                        least(due_ns, now_ns + BANK_LOOK_NS));
}

/* A bucket that ran dry is left alone until it is worth the wake-up, but not while others empty it
 * at once. */
static int64_t wanted_level_ns(const struct admit_ask *ask, uint32_t cap_ppm)
{
        int64_t quarter_ns = bank_top_ns(cap_ppm) / 4;
        bool is_worth_it = ask->waited_ns && ask->waited_ns < BANK_PATIENCE_NS;

        return is_worth_it && ask->piece_ns < (uint64_t)quarter_ns ? quarter_ns : 1;
}

/* So much may be left to do when a piece follows: of long ones each comes shortly before the end of
 * the one before it, or the device stands still between them. */
static uint64_t room_before_ns(const struct admit_ask *ask, const struct terms *terms)
{
        uint64_t others_ns = terms->target_ns - least(ask->piece_ns, terms->target_ns);

        return most(others_ns, least(ask->piece_ns, terms->target_ns));
}

static bool is_window_full(const struct admit_ask *ask, const struct terms *terms)
{
        if (ask->is_stuck)
                return true;
        return ask->in_flight_ns && sum(ask->in_flight_ns, ask->piece_ns) > terms->target_ns &&
               ask->left_ns > room_before_ns(ask, terms);
}

/* Looked at before it has room: what runs may be shorter than was expected. */
static struct admit_answer wait_for_window(const struct admit *admit, const struct terms *terms,
                                           const struct admit_ask *ask, uint64_t now_ns)
{
        uint64_t look_ns = drain_look_ns(ask), room_ns = room_before_ns(ask, terms);
        struct admit_answer answer;

        if (ask->left_ns > room_ns)
                look_ns = least(look_ns, most(least(ask->left_ns - room_ns, ask->piece_ns / 4),
                                              WINDOW_LOOK_LEAST_NS));
        answer = wait_for(ADMIT_WINDOW, terms, &admit->limits->epoch, now_ns + look_ns);
        answer.is_owing =
                must_pay(terms) && bank_level_ns(admit->meter, terms->cap_ppm, now_ns) <= 0;
        return answer;
}

static uint32_t count_pieces(const struct admit_ask *ask, uint64_t room_ns)
{
        uint64_t each_ns = ask->careful_ns ? ask->careful_ns : 1;
        uint64_t pieces = room_ns / each_ns;

        pieces = least(pieces, least(ask->pieces, ADMIT_PIECES));
        return pieces ? (uint32_t)pieces : 1;
}

/* Pays at once, and tells views how many such pieces the window has room for. */
static struct admit_answer grant(const struct admit *admit, const struct terms *terms,
                                 const struct admit_ask *ask, uint64_t room_ns, uint64_t now_ns)
{
        uint32_t pieces = count_pieces(ask, room_ns);
        uint64_t window = terms->target_ns / most(ask->piece_ns, 1);

        store_relaxed(shared_half(&admit->meter->window),
                      (uint32_t)least(most(window, 1), UINT32_MAX));
        charge(admit, terms, now_ns, (int64_t)(pieces * ask->piece_ns));
        return (struct admit_answer){ .reason = ADMIT_GRANTED, .pieces = pieces, .terms = *terms };
}

/* The turn if nobody has it. */
static void note_turn(const struct admit *admit, const struct admit_ask *ask, uint64_t now_ns)
{
        struct admit_ask turn_ask = *ask;
        uint64_t until_ns;

        turn_ask.has_stood_back = true;
        take_turn(admit, &turn_ask, now_ns, &until_ns);
}

/* Fills *ret and is true if the bank is to be waited for; else *room_ns is no more than it has. */
static bool must_save(const struct admit *admit, const struct terms *terms,
                      const struct admit_ask *ask, uint64_t now_ns, uint64_t *room_ns,
                      struct admit_answer *ret)
{
        int64_t level_ns, wanted_ns;

        if (!must_pay(terms))
                return false;
        level_ns = bank_level_ns(admit->meter, terms->cap_ppm, now_ns);
        wanted_ns = wanted_level_ns(ask, terms->cap_ppm);
        if (level_ns >= wanted_ns) {
                *room_ns = least(*room_ns, (uint64_t)level_ns);
                return false;
        }
        *ret = wait_for_bank(admit, terms, now_ns,
                             bank_due_ns(level_ns, wanted_ns, terms->cap_ppm, now_ns));
        return true;
}

/* The same for the turn. */
static bool must_take_turns(const struct admit *admit, const struct terms *terms,
                            const struct admit_ask *ask, uint64_t now_ns, uint64_t *room_ns,
                            struct admit_answer *ret)
{
        uint64_t turn_ns, until_ns = 0;

        if (admit->slot >= PAGE_SLOTS)
                return false;
        if (terms_are_loose(terms)) {
                note_turn(admit, ask, now_ns);
                return false;
        }
        turn_ns = take_turn(admit, ask, now_ns, &until_ns);
        if (turn_ns) {
                turn_ns -= now_ns;
                *room_ns = least(*room_ns, turn_ns - least(ask->in_flight_ns, turn_ns));
                return false;
        }
        want_turn(admit);
        *ret = wait_for(ADMIT_TURN, terms, &admit->meter->turn_bell, until_ns);
        return true;
}

struct admit_answer admit_ask(const struct admit *admit, const struct admit_ask *ask,
                              uint64_t now_ns)
{
        struct terms terms = admit_terms(admit, now_ns);
        uint64_t room_ns = terms.target_ns / 4;
        struct admit_answer answer;

        if (!is_leased(&terms, now_ns))
                return wait_for_lease(admit, &terms, ask, now_ns);
        if (terms.mode == PAGE_MODE_OPEN)
                room_ns = least(room_ns, terms.end_ns - now_ns);
        if (is_window_full(ask, &terms))
                return wait_for_window(admit, &terms, ask, now_ns);
        if (must_save(admit, &terms, ask, now_ns, &room_ns, &answer))
                return answer;
        if (must_take_turns(admit, &terms, ask, now_ns, &room_ns, &answer))
                return answer;
        return grant(admit, &terms, ask, room_ns, now_ns);
}

void admit_escape(const struct admit *admit, const struct admit_ask *ask, uint64_t now_ns)
{
        struct terms terms = admit_terms(admit, now_ns);

        add_relaxed(shared_word(&admit->meter->escapes), 1);
        charge(admit, &terms, now_ns, (int64_t)(ask->pieces * ask->piece_ns));
}

void admit_settle(const struct admit *admit, uint64_t paid_ns, uint64_t took_ns, uint32_t pieces,
                  uint64_t now_ns)
{
        struct terms terms = admit_terms(admit, now_ns);

        charge(admit, &terms, now_ns, (int64_t)(took_ns - paid_ns));
        add_relaxed(shared_word(&admit->meter->busy_ns), took_ns);
        add_relaxed(shared_word(&admit->meter->launches), pieces);
}

void admit_refund(const struct admit *admit, uint64_t paid_ns, uint64_t now_ns)
{
        struct terms terms = admit_terms(admit, now_ns);

        charge(admit, &terms, now_ns, -(int64_t)paid_ns);
}

void admit_note_wait(const struct admit *admit, uint64_t waited_ns)
{
        add_relaxed(shared_word(&admit->meter->waits), 1);
        add_relaxed(shared_word(&admit->meter->waited_ns), waited_ns);
}
