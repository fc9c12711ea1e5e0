/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See admit.h.
 */
#include "shim/admit.h"

#include <limits.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "shim/admit_parts.h"
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
/* active_at_ns is raised so often, and silence for so long is a pause. */
#define ACTIVE_STEP_NS UINT64_C(500000)
#define ACTIVE_PAUSE_NS UINT64_C(5000000)
/* The most that is owed for work under leases alone. */
#define LEASED_FLOOR_NS INT64_C(-10000000000)

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

void admit_ring(const struct admit *admit)
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
                admit_ring(admit);
}

void admit_note_active(const struct admit *admit, uint64_t now_ns)
{
        _Atomic uint64_t *active = shared_word(&admit->meter->active_at_ns);
        uint64_t at_ns = load_relaxed(active);

        if (is_recent(at_ns, ACTIVE_STEP_NS, now_ns))
                return;
        store_release(active, now_ns);
        if (!is_recent(at_ns, ACTIVE_PAUSE_NS, now_ns))
                admit_ring(admit);
}

void admit_note_done(const struct admit *admit, uint64_t done_ns)
{
        store_release(shared_word(&admit->meter->done_at_ns), done_ns);
}

/* -- Asking ----------------------------------------------------------------------------------- */

uint64_t admit_drain_look_ns(const struct admit_ask *ask)
{
        uint64_t look_ns = least(ask->look_ns, WINDOW_LOOK_MOST_NS);

        return look_ns > WINDOW_LOOK_LEAST_NS ? look_ns : WINDOW_LOOK_LEAST_NS;
}

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

/* The word is the one that was read with the terms: what changed since ends the wait at once. */
static struct admit_answer wait_for_lease(const struct admit *admit, const struct terms *terms,
                                          const struct admit_ask *ask, uint64_t now_ns)
{
        uint64_t wait_ns = ask->in_flight_ns ? admit_drain_look_ns(ask) : LEASE_WAIT_NS;
        struct admit_answer answer =
                wait_for(ADMIT_LEASE, terms, &admit->device->lease.turn, now_ns + wait_ns);

        answer.seen = terms->turn;
        if (ask->is_sure && ask->left_ns && terms->is_watched)
                admit_end_turn_by(admit, now_ns + page_turn_rest_ns(ask->left_ns));
        if (terms->turn & 1)
                answer.deadline_ns = now_ns + LEASE_LOOK_NS;
        want(admit, terms, now_ns);
        return answer;
}

/* The processes that wait for the bank wake together: who had the last turn lets the others go. */
static struct admit_answer wait_for_bank(const struct admit *admit, const struct terms *terms,
                                         uint64_t now_ns, uint64_t due_ns)
{
        if (admit->slot < PAGE_SLOTS)
                admit_want_turn(admit);
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
        return ask->in_flight_ns && sum_of(ask->in_flight_ns, ask->piece_ns) > terms->target_ns &&
               ask->left_ns > room_before_ns(ask, terms);
}

/* Looked at before it has room: what runs may be shorter than was expected. */
static struct admit_answer wait_for_window(const struct admit *admit, const struct terms *terms,
                                           const struct admit_ask *ask, uint64_t now_ns)
{
        uint64_t look_ns = admit_drain_look_ns(ask), room_ns = room_before_ns(ask, terms);
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
                admit_note_turn(admit, ask, now_ns);
                return false;
        }
        turn_ns = admit_take_turn(admit, ask, now_ns, &until_ns);
        if (turn_ns) {
                turn_ns -= now_ns;
                *room_ns = least(*room_ns, turn_ns - least(ask->in_flight_ns, turn_ns));
                return false;
        }
        admit_want_turn(admit);
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
        add_acq_rel(shared_word(&admit->meter->busy_ns), took_ns);
        add_relaxed(shared_word(&admit->meter->launches), pieces);
}

void admit_note_sampled(const struct admit *admit, uint64_t took_ns)
{
        add_relaxed(shared_word(&admit->meter->sampled_ns), took_ns);
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
