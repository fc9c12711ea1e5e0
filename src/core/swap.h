/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which sessions have their memory on a card that has no room for all of it.
 *
 *      swap_add(&swap, entry, card, class, gate)
 *      for each session, at each look:
 *              swap_see(&swap, entry, &seen)           // what its pages say
 *      swap_step(&swap, now_ns)
 *      for each session:
 *              swap.session[entry].order               // to be written into its page
 *      swap_next_ns(&swap)                             // the next look is due then, at the latest
 *
 * Part of a session's memory is *swappable*: it can be moved to the host while the session is held
 * (its gate is shut, and nothing of it is in flight). The rest is *pinned*. A session runs only
 * while all of its memory is on the card. If all sessions of a card fit, all run and nothing moves.
 * Else they take turns:
 *
 * - As many sessions run at a time as fit beside each other. A session whose turn lasts comes
 *   first, then the higher class, then the session that has waited longest. Rt also ends the turn
 *   of a lower class. A class takes no turn while higher ones want all the room.
 * - All turns of a card end at the same time: SWAP_TURN_COSTS times the last change of turns after
 *   that change. So sessions that are always busy spend at most 4 % of the time on changes, which
 *   leaves room for growth. Turns go on if no session waits.
 * - Until then a session that waits comes in where it fits beside the turns that last.
 * - A turn ends early when its session is idle for as long as a change takes, or at once if its
 *   last pause was longer than that; but only if another session waits for the room.
 * - A session with a turn grows where no other turn that lasts has memory: idle sessions, and
 *   those without a turn, make room for it. For more it waits, and runs on, until its turn is over.
 *   If it is not busy, it can do nothing until it has grown, and its turn is over at once. So of
 *   sessions that fill their memory at once, those behind give way to the first.
 * - Only the missing bytes move. A session without a turn keeps on the card what the others leave
 *   free, and if it waits, moves into that in advance. Where sessions with a turn need more, those
 *   that will wait longest give it. One that wants nothing stays out until it does, or until
 *   all sessions fit.
 * - A session that does not drain within SWAP_DRAIN_MOST_NS, or drains and then takes longer than
 *   SWAP_MOVE_MOST_NS to move SWAP_MOVE_LEAST_BYTES, or the rest, is *stuck*: its gate opens again,
 *   and all of its memory counts as pinned until the next try. Each try comes after twice the time.
 *   Its memory may be out in part: then the gate stays shut, since the program must not run.
 *
 * Invariants after each step, if the pages told the truth:
 *
 * - On each card the sum over all sessions of max(order.resident_bytes, what it has there) is at
 *   most the capacity, except for memory that the driver took without being asked.
 * - order.most_bytes of each session plus order.pinned_bytes of all others is at most the capacity.
 *   So every session can be brought in whole.
 * - A gate is opened only while nothing of its session is out.
 *
 * A step never lowers one session's order and gives the same bytes to another one: a session may
 * have used its old order since it was seen. The bytes are given at a later step, when they were
 * seen to be free under the lower order. So a session that was added is first told to have what it
 * has, and more only after the next look. If pinned bytes that the driver took break the second
 * invariant, the session that no longer fits is marked (has_no_room) and comes in when they are
 * gone.
 *
 * The caller writes all orders before it looks again. Before the first hold it sets `gates` to a
 * number that no page has seen (the time, or a random one): after a restart a page may still hold
 * the answer to an old hold.
 *
 * Time is monotonic, nanoseconds; if it goes back, it counts as standing still. Bytes come from
 * pages that tenants write: any number is taken. All memory is the caller's; nothing here allocates
 * or blocks. A step is a few walks over the entries. One thread.
 */
#ifndef ALIQUOT_CORE_SWAP_H
#define ALIQUOT_CORE_SWAP_H

#include <stdbool.h>
#include <stdint.h>

#define SWAP_SESSIONS 4096u
#define SWAP_CARDS 16u
#define SWAP_NEVER UINT64_MAX

#define SWAP_TURN_COSTS 24u
#define SWAP_TURN_LEAST_NS UINT64_C(200000000)
#define SWAP_TURN_MOST_NS UINT64_C(30000000000)
/* No turn ends for a shorter pause. */
#define SWAP_IDLE_LEAST_NS UINT64_C(20000000)
#define SWAP_DRAIN_MOST_NS UINT64_C(2000000000)
#define SWAP_MOVE_MOST_NS UINT64_C(10000000000)
#define SWAP_MOVE_LEAST_BYTES (UINT64_C(1) << 30)
#define SWAP_STUCK_LEAST_NS UINT64_C(2000000000)
#define SWAP_STUCK_MOST_NS UINT64_C(60000000000)
/* Time between looks: while something drains or moves or a wish is open; while memory is short;
 * and else. */
#define SWAP_LOOK_BUSY_NS UINT64_C(1000000)
#define SWAP_LOOK_SHORT_NS UINT64_C(5000000)
#define SWAP_LOOK_QUIET_NS UINT64_C(20000000)

/* In the order of rank; the same numbers as sessions_one.priority. */
enum swap_class { SWAP_CLASS_BATCH, SWAP_CLASS_NORMAL, SWAP_CLASS_RT };

/* What a session's pages say. */
struct swap_seen {
        uint64_t used_bytes;      /* memory of its programs, on the card or in the host */
        uint64_t swappable_bytes; /* part of that; clamped to it */
        uint64_t out_bytes;       /* part of swappable_bytes, in the host now; clamped to it */
        /* What it would have on the card, and pinned, with what its programs wait for. 0, or less
         * than it has: they wait for nothing. */
        uint64_t wished_resident_bytes;
        uint64_t wished_pinned_bytes;
        bool is_busy;    /* work is in flight, or a thread waits at a gate, now or a moment ago */
        bool is_drained; /* every live process has answered order.gate */
};

enum swap_state {
        SWAP_FREE,   /* the entry is free */
        SWAP_RUNS,   /* the gate is open, nothing is out */
        SWAP_DRAINS, /* the gate is shut, not all processes have answered */
        SWAP_HELD,   /* all have: memory moves, out or in, until order.resident_bytes is met */
};

/* What is to be written into the session's page. */
struct swap_order {
        uint32_t gate; /* limits_page.gate: 0 is open; each hold has another number */
        uint64_t resident_bytes;
        uint64_t most_bytes;
        uint64_t pinned_bytes;
};

struct swap_session {
        uint8_t state; /* enum swap_state */
        uint8_t card;
        uint8_t class; /* enum swap_class */
        bool has_turn; /* it runs, or is being brought in to run */
        struct swap_seen seen;
        struct swap_order order;
        bool has_no_room; /* it cannot be brought in whole: others have too much pinned */
        bool is_asked;    /* its pinned wish will be met at a later step: it is not answered yet */
        uint64_t turn_ns; /* when the gate was opened in this turn; 0: not yet */
        /* Since when it has wanted to run, or to grow by more than there is room for; 0: it runs
         * and has what it wants, or wants nothing. */
        uint64_t waits_ns;
        uint64_t idle_ns;  /* since when it has not been busy; 0: it is busy */
        uint64_t pause_ns; /* how long it was not, the last time */
        /* When the gate was shut; once drained, since when it moves the bytes that it moves. */
        uint64_t shut_ns;
        uint64_t moves_bytes; /* since then */
        uint64_t stuck_ns;    /* it is left alone until then; 0: it is not stuck */
        uint64_t patience_ns; /* how long it will be left alone the next time */
        /* For display. */
        uint64_t holds;
        uint64_t held_ns;
        uint64_t moved_bytes; /* out and in, together */
        /* Of no interest outside: what it may have by all orders since it was seen, */
        uint64_t may_reside_bytes, may_use_bytes, may_pin_bytes;
        uint64_t grow_bytes, need_bytes, target_bytes; /* what a step is about to do, */
        struct swap_order before;
        uint8_t kind;
        bool is_told;  /* it was given an order, */
        bool is_known; /* and was seen after that, */
        bool is_whole; /* nothing was out, and nothing was ordered out, */
        bool is_placed;
};

struct swap_card {
        uint64_t capacity_bytes; /* for all sessions that swap; set by the caller */
        uint64_t cost_ns;        /* of the last change of turns; 0: not known yet */
        uint64_t turn_ns;        /* when the present turns began */
        uint64_t change_ns;      /* since when turns are being changed; 0: they are not */
        uint64_t changes;        /* for display */
        bool is_short;           /* not everything fits */
        bool has_moved;          /* bytes did since change_ns */
};

/* A new one is all zeroes, but for `gates` and the cards. Anybody may read it. */
struct swap {
        uint32_t gates;   /* number of the last hold */
        uint32_t entries; /* one above the last entry that was ever added */
        uint64_t now_ns;
        uint64_t next_ns;             /* as swap_next_ns() says */
        uint32_t count;               /* of sessions */
        uint16_t list[SWAP_SESSIONS]; /* them, by card and then by rank */
        struct swap_card card[SWAP_CARDS];
        struct swap_session session[SWAP_SESSIONS];
};

/* `entry` is free. `gate` is what the session's page says: after a restart a session may be held
 * already, with memory that is out. */
void swap_add(struct swap *swap, unsigned entry, unsigned card, enum swap_class class,
              uint32_t gate);
void swap_remove(struct swap *swap, unsigned entry);
void swap_rank(struct swap *swap, unsigned entry, enum swap_class class);

void swap_see(struct swap *swap, unsigned entry, const struct swap_seen *seen);
void swap_step(struct swap *swap, uint64_t now_ns);
uint64_t swap_next_ns(const struct swap *swap);

#endif
