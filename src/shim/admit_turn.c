/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of a session's processes, see admit.h: one word of the device's meter (proto/page.h) says
 * whose turn it is and until when. It changes by exchange alone; whoever loses one looks again.
 */
#include "shim/admit_parts.h"

#include <limits.h>

#include "common/atomic.h"
#include "common/clock.h"

/* Who has just had the turn leaves the others so long to take it. */
#define STAND_BACK_NS UINT64_C(500000)
/* Who has the turn gives it up when its work is measured; so much later it ends by the clock, for
 * the dead and for what took longer than anybody thought. */
#define TURN_SLACK_NS UINT64_C(5000000)
/* No turn lasts longer, whatever the page says. */
#define TURN_MOST_NS UINT64_C(2000000000)
/* Others had the device for at least so long. */
#define BEGIN_PAUSE_NS UINT64_C(1000000)

/* Each lost exchange is another process's turn. Who always loses is up against a page that somebody
 * scribbles on, and goes on without: turns are among a session's own, what it may use the bank
 * says. */
#define SWAP_TRIES 10000u

#define US_NS UINT64_C(1000)

static uint64_t turn_word(const struct admit *admit, uint64_t until_ns)
{
        return (until_ns / US_NS) << PAGE_TURN_TIME_SHIFT | PAGE_TURN_TAKEN | admit->slot;
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
                return now_ns + admit_drain_look_ns(ask);
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

uint64_t admit_take_turn(const struct admit *admit, const struct admit_ask *ask, uint64_t now_ns,
                         uint64_t *ret_until_ns)
{
        _Atomic uint64_t *word = shared_word(&admit->meter->turn);
        uint64_t need_ns = sum_of(ask->in_flight_ns, ask->piece_ns);
        uint64_t length_ns = least(need_ns > ADMIT_TURN_NS ? need_ns : ADMIT_TURN_NS, TURN_MOST_NS);
        uint64_t turn = load_acquire(word);

        for (unsigned i = 0; i < SWAP_TRIES; i++) {
                uint64_t until_ns = page_turn_until_ns(turn);
                bool is_mine = (turn & PAGE_TURN_SLOT) == admit->slot;
                bool is_on = (turn & PAGE_TURN_TAKEN) && until_ns > now_ns &&
                             until_ns - now_ns <= TURN_MOST_NS + TURN_SLACK_NS;

                if (is_on && is_mine && sum_of(need_ns, TURN_SLACK_NS) <= until_ns - now_ns)
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
        return now_ns + length_ns;
}

void admit_end_turn_by(const struct admit *admit, uint64_t done_ns)
{
        uint64_t turn = load_acquire(shared_word(&admit->meter->turn));
        uint64_t mine = PAGE_TURN_TAKEN | admit->slot;
        uint64_t sooner = turn_word(admit, done_ns) | (turn & PAGE_TURN_WANTED);

        if ((turn & (PAGE_TURN_TAKEN | PAGE_TURN_SLOT)) == mine &&
            page_turn_until_ns(turn) > done_ns + PAGE_TURN_LATE_NS &&
            cas_acq_rel(shared_word(&admit->meter->turn), &turn, sooner))
                admit_ring(admit);
}

void admit_want_turn(const struct admit *admit)
{
        _Atomic uint64_t *word = shared_word(&admit->meter->turn);
        uint64_t turn = load_acquire(word);

        for (unsigned i = 0; i < SWAP_TRIES; i++) {
                if ((turn & PAGE_TURN_SLOT) == admit->slot || (turn & PAGE_TURN_WANTED) ||
                    cas_acq_rel(word, &turn, turn | PAGE_TURN_WANTED))
                        return;
        }
}

void admit_note_turn(const struct admit *admit, const struct admit_ask *ask, uint64_t now_ns)
{
        struct admit_ask turn_ask = *ask;
        uint64_t until_ns;

        turn_ask.has_stood_back = true;
        admit_take_turn(admit, &turn_ask, now_ns, &until_ns);
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
                        admit_ring(admit);
        }
}
