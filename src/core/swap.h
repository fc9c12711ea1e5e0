/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which sessions keep their memory on a card that cannot hold the memory of all sessions.
 *
 *      swap_add(&swap, entry, card, class, gate)
 *      for each session, at each look:
 *              swap_see(&swap, entry, &seen)           // what its pages say
 *      swap_step(&swap, now_ns)
 *      for each session:
 *              swap.session[entry].order               // to be written into its page
 *      swap_next_ns(&swap)                             // the latest time of the next look
 *
 * Part of a session's memory is *swappable*: it can be moved to the host while the session is held
 * (its gate is shut, and none of its work is in flight). The rest is *pinned*. A session runs only
 * while all of its memory is on the card. If all sessions of a card fit beside each other, all run
 * and nothing moves. Else they take turns:
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
 * - A session with a turn grows into memory that no other lasting turn uses: idle sessions, and
 *   those without a turn, make room for it. To grow beyond that it waits until its turn is over,
 *   and runs meanwhile. If it is not busy, it can do nothing until it has grown, so its turn ends
 *   at once. So of sessions that fill their memory at the same time, the later ones give way to the
 *   first.
 * - Only the missing bytes move. A session without a turn keeps its bytes on the card until a
 *   session with a turn needs the room; the session that will wait longest moves out first. A
 *   session that waits moves into free room in advance. A session that wants nothing stays out
 *   until it wants to run, or until all sessions fit.
 * - struct swap_rules can fix the length of turns, and set a mode. SWAP_SERIAL: one session at a
 *   time has a turn, even if several fit. SWAP_PARALLEL: turns do not end by the clock, so a
 *   waiting session comes in where it fits, or when others are idle.
 * - A session is *stuck* if it does not drain within SWAP_DRAIN_MAX_NS, or then takes longer than
 *   SWAP_MOVE_MAX_NS to move SWAP_MOVE_MIN_BYTES or the rest. Its gate opens again, and all of
 *   its memory counts as pinned until the next try; the time between tries doubles. If part of its
 *   memory is out, the gate stays shut, since the program must not run. A session that has been
 *   stuck for SWAP_OVERDUE_NS, with all tries since in vain, is *overdue*.
 *
 * Invariants after each step, if the pages told the truth:
 *
 * - On each card the sum over all sessions of max(order.resident_bytes, bytes on the card) is at
 *   most the capacity, except for memory that the driver took on its own.
 * - order.most_bytes of each session plus order.pinned_bytes of all others is at most the capacity.
 *   So every session can be brought in whole.
 * - A gate is opened only while nothing of its session is out.
 *
 * A step never takes bytes from one session's order and gives them to another, because the first
 * may have used its old order since it was seen. The bytes are given at a later step, after they
 * were seen to be free under the lower order. So the first order of a new session allows only the
 * bytes that it has; more is allowed after the next look. If pinned bytes that the driver took
 * break the second invariant, the session that no longer fits is marked (has_no_room) and comes in
 * when those bytes are gone.
 *
 * The caller writes all orders before it looks again. Before the first hold it sets `gates` to a
 * number that no page has seen (the time, or a random one): after a restart a page may still hold
 * the answer to an old hold.
 *
 * Times are monotonic, in nanoseconds; a time before the last one counts as the last one. Bytes
 * come from pages that tenants write, so every number is accepted. The caller owns all memory; no
 * function allocates or blocks. A step walks over the entries a few times. One thread.
 */
#ifndef ALIQUOT_CORE_SWAP_H
#define ALIQUOT_CORE_SWAP_H

#include <stdbool.h>
#include <stdint.h>

#define SWAP_SESSIONS 4096u
#define SWAP_CARDS 16u
#define SWAP_NEVER UINT64_MAX

#define SWAP_TURN_COSTS 24u
#define SWAP_TURN_MIN_NS UINT64_C(200000000)
#define SWAP_TURN_MAX_NS UINT64_C(30000000000)
/* No turn ends for a pause shorter than this. */
#define SWAP_IDLE_MIN_NS UINT64_C(20000000)
#define SWAP_DRAIN_MAX_NS UINT64_C(2000000000)
#define SWAP_MOVE_MAX_NS UINT64_C(10000000000)
#define SWAP_MOVE_MIN_BYTES (UINT64_C(1) << 30)
#define SWAP_OVERDUE_NS UINT64_C(10000000000)
#define SWAP_STUCK_MIN_NS UINT64_C(2000000000)
#define SWAP_STUCK_MAX_NS UINT64_C(60000000000)
/* Time between looks: while a session drains, moves or is about to get memory; while memory is
 * short; and otherwise. */
#define SWAP_LOOK_BUSY_NS UINT64_C(1000000)
#define SWAP_LOOK_SHORT_NS UINT64_C(5000000)
#define SWAP_LOOK_QUIET_NS UINT64_C(20000000)

/* From low to high; the same numbers as sessions_one.priority. */
enum swap_class { SWAP_CLASS_BATCH, SWAP_CLASS_NORMAL, SWAP_CLASS_RT };

/* What a session's pages say. */
struct swap_seen {
        uint64_t used_bytes;      /* memory of its programs, on the card or in the host */
        uint64_t swappable_bytes; /* part of used_bytes; clamped */
        uint64_t out_bytes;       /* part of swappable_bytes that is in the host now; clamped */
        /* Bytes on the card, and pinned bytes, after its programs got the memory that they wait
         * for. If not above the present values, no program waits. */
        uint64_t wished_resident_bytes;
        uint64_t wished_pinned_bytes;
        bool is_busy;    /* work is in flight, or a thread waits at a gate, now or a moment ago */
        bool is_drained; /* every live process has answered order.gate */
};

enum swap_mode { SWAP_AUTO, SWAP_SERIAL, SWAP_PARALLEL };

/* For all cards; the caller changes them at any time. All zero: as the header says. */
struct swap_rules {
        enum swap_mode mode;
        uint64_t turn_ns; /* length of all turns; 0: derived from the cost of a change */
};

enum swap_state {
        SWAP_FREE,   /* the entry is free */
        SWAP_RUNS,   /* the gate is open, nothing is out */
        SWAP_DRAINS, /* the gate is shut, not all processes have answered */
        SWAP_HELD,   /* all have answered: memory moves until order.resident_bytes is met */
};

/* The caller writes these into the session's page. */
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
        bool is_asked;    /* its pinned wish will be met, and answered, at a later step */
        uint64_t turn_ns; /* when the gate was opened in this turn; 0: not yet */
        /* Since when it has waited for a turn, or to grow; 0: it does not wait. */
        uint64_t waits_ns;
        uint64_t idle_ns;  /* since when it has not been busy; 0: it is busy */
        uint64_t pause_ns; /* length of its last idle time */
        /* When the gate was shut; once drained, the time from which moves_bytes are counted. */
        uint64_t shut_ns;
        uint64_t moves_bytes; /* moved since shut_ns */
        uint64_t stuck_ns;    /* end of the time that it is left alone; 0: it is not stuck */
        uint64_t patience_ns; /* how long it will be left alone the next time */
        uint64_t since_ns;    /* when it first got stuck, all tries since in vain; 0: it is not */
        bool is_overdue;
        /* For display. */
        uint64_t holds;
        uint64_t held_ns;
        uint64_t moved_bytes; /* out and in, together */
        /* Private. Upper bounds of its bytes under all orders since it was last seen: */
        uint64_t may_reside_bytes, may_use_bytes, may_pin_bytes;
        /* Bytes on the card that an order allowed: the present order, or an earlier one if the
         * bytes were seen on the card ever since. */
        uint64_t ordered_bytes;
        uint64_t beyond_ns; /* since when more than that was seen on the card; 0: it is not */
        /* Scratch values of a step: */
        uint64_t grow_bytes, need_bytes, target_bytes;
        struct swap_order before;
        uint8_t kind; /* enum swap_kind */
        bool is_placed;
        bool is_told;  /* an order was made for it */
        bool is_known; /* it was seen after is_told */
        bool is_whole; /* it was seen with no memory out, and since then none was ordered out */
};

struct swap_card {
        uint64_t capacity_bytes; /* for all sessions that swap together; set by the caller */
        uint64_t cost_ns;        /* time that the last change of turns took; 0: not known yet */
        uint64_t turn_ns;        /* when the present turns began */
        uint64_t change_ns;      /* when the change that is under way began; 0: there is none */
        uint64_t changes;        /* for display */
        bool is_short;           /* the sessions do not all fit, or may not all run */
        bool has_moved;          /* bytes were moved since change_ns */
};

/* The caller sets `gates`, the capacities and the rules of a new one; all else is zero. Any code
 * may read it. */
struct swap {
        struct swap_rules rules;
        uint32_t gates;   /* number of the last hold */
        uint32_t entries; /* one above the last entry that was ever added */
        uint64_t now_ns;
        uint64_t next_ns;             /* see swap_next_ns() */
        uint32_t count;               /* number of sessions */
        uint16_t list[SWAP_SESSIONS]; /* their entries, by card and then by rank */
        struct swap_card card[SWAP_CARDS];
        struct swap_session session[SWAP_SESSIONS];
};

/* `entry` must be free. `gate` is read from the session's page: after a restart a session may be
 * held already, with memory in the host. */
void swap_add(struct swap *swap, unsigned entry, unsigned card, enum swap_class class,
              uint32_t gate);
void swap_remove(struct swap *swap, unsigned entry);
void swap_rank(struct swap *swap, unsigned entry, enum swap_class class);

void swap_see(struct swap *swap, unsigned entry, const struct swap_seen *seen);
void swap_step(struct swap *swap, uint64_t now_ns);
uint64_t swap_next_ns(const struct swap *swap);

#endif
