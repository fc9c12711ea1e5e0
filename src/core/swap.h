/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which sessions keep their memory on a card that cannot hold the memory of all sessions.
 *
 *      swap_add(&swap, entry, card, class, gate)
 *      for each session, at each poll:
 *              swap_see(&swap, entry, &seen)           // what the session's pages say
 *      swap_step(&swap, now_ns)
 *      for each session:
 *              swap.session[entry].order               // to be written into the session's page
 *      swap_next_ns(&swap)                             // the latest time of the next poll
 *
 * Part of a session's memory is *swappable*: it can be moved to the host while the session is held
 * (its gate is closed, and none of its work is in flight). The rest is *pinned*. A session runs
 * only while all of its memory is on the card. If all sessions of a card fit beside each other, all
 * run and nothing moves. Else they take turns:
 *
 * - As many sessions run at a time as fit beside each other. A session whose turn goes on comes
 * first,
 *   then the higher class, then the session that has waited longest. An rt session also ends the
 * turns of lower classes. A class gets no turn while higher classes want all the room.
 * - All turns of a card end at the same time. They last SWAP_TURN_COSTS times as long as the last
 * change
 *   of turns took, counted from the end of that change. So sessions that are always busy spend at
 * most 4 % of the time on changes, which leaves room for growth. Turns go on if no session waits.
 * - Until the turns end, a session that waits is brought in where it fits beside them.
 * - A turn ends early when its session is idle for as long as a change takes, or at once if the
 * session's
 *   last pause was longer than a change takes; but only if another session waits for the room.
 * - A session with a turn grows into memory that no other lasting turn uses: idle sessions, and
 * sessions
 *   without a turn, make room for it. To grow beyond that, the session waits until its turn is
 * over, and runs meanwhile. If it is not busy, it can do nothing until it has grown, so its turn
 * ends at once. So of sessions that fill their memory at the same time, the later ones give way to
 * the first.
 * - Only the missing bytes move. A session without a turn keeps its bytes on the card until a
 * session with
 *   a turn needs the room; the session that will wait longest moves out first. A session that waits
 * moves into free room in advance. A session that wants nothing stays out until it wants to run, or
 * until all sessions fit.
 * - struct swap_rules can fix the length of turns, and set a mode. SWAP_SERIAL: one session at a
 * time has
 *   a turn, even if several fit. SWAP_PARALLEL: turns do not end by the clock, so a waiting session
 * is brought in where it fits, or when others are idle.
 * - A session is *stuck* if it does not drain within SWAP_DRAIN_MAX_NS, or if, once drained, it
 * takes
 *   longer than SWAP_MOVE_MAX_NS to move SWAP_MOVE_MIN_BYTES or the rest. The gate of a stuck
 * session opens again, and all of its memory counts as pinned until the next try; the time between
 * tries doubles. But if part of its memory is in the host, the gate stays closed, since the program
 * must not run. A session is *overdue* if it has been stuck for SWAP_OVERDUE_NS and all tries since
 * have failed.
 *
 * Invariants after each step, if the pages told the truth:
 *
 * - On each card, the sum over all sessions of max(order.resident_bytes, bytes on the card) is at
 * most
 *   the capacity, except for memory that the driver allocated on its own.
 * - order.most_bytes of each session plus order.pinned_bytes of all others is at most the capacity.
 * So
 *   every session can be brought in whole.
 * - A gate is opened only while none of its session's memory is in the host.
 *
 * A step never takes bytes from one session's order and gives them to another, because the first
 * session may have used its old order since it was last seen. The bytes are given at a later step,
 * after they were seen to be free under the lower order. So the first order of a new session allows
 * only the bytes that it has; later orders may allow more. If the driver pins bytes on its own, the
 * second invariant may break. Then the session that no longer fits is marked (has_no_room), and is
 * brought in when those bytes are gone.
 *
 * The caller writes all orders before it polls again. Before the first hold it sets `gates` to a
 * number that no page has seen (the time, or a random number): after a restart a page may still
 * hold the answer to an old hold.
 *
 * Times are monotonic, in nanoseconds; a time before the last one counts as the last one. The byte
 * counts come from pages that tenants write, so every number is accepted. The caller owns all
 * memory; no function allocates or blocks. A step walks over the entries a few times. One thread.
 */
#ifndef ALIQUOT_CORE_SWAP_H
#define ALIQUOT_CORE_SWAP_H

#include <stdbool.h>
#include <stdint.h>

#define SWAP_SESSIONS 4096u
#define SWAP_CARDS 16u
#define SWAP_NEVER UINT64_MAX

/* Length of a turn: SWAP_TURN_COSTS times the duration of the last change of turns, clamped to
 * SWAP_TURN_MIN_NS and SWAP_TURN_MAX_NS. */
#define SWAP_TURN_COSTS 24u
#define SWAP_TURN_MIN_NS UINT64_C(200000000)
#define SWAP_TURN_MAX_NS UINT64_C(30000000000)
/* Minimum idle time of a session before its turn can end early. */
#define SWAP_IDLE_MIN_NS UINT64_C(20000000)
#define SWAP_DRAIN_MAX_NS UINT64_C(2000000000)
#define SWAP_MOVE_MAX_NS UINT64_C(10000000000)
#define SWAP_MOVE_MIN_BYTES (UINT64_C(1) << 30)
#define SWAP_OVERDUE_NS UINT64_C(10000000000)
#define SWAP_STUCK_MIN_NS UINT64_C(2000000000)
#define SWAP_STUCK_MAX_NS UINT64_C(60000000000)
/* Time until the next poll: while a session drains, moves or is about to get memory (BUSY); else
 * while memory is short (SHORT); and otherwise (QUIET). */
#define SWAP_LOOK_BUSY_NS UINT64_C(1000000)
#define SWAP_LOOK_SHORT_NS UINT64_C(5000000)
#define SWAP_LOOK_QUIET_NS UINT64_C(20000000)

/* Classes from low to high, with the numbers of sessions_one.priority. */
enum swap_class { SWAP_CLASS_BATCH, SWAP_CLASS_NORMAL, SWAP_CLASS_RT };

/* What a session's pages say at a poll. */
struct swap_seen {
        uint64_t used_bytes; /* memory of the session's programs, on the card or in the host */
        /* part of used_bytes that can be moved to the host; a larger value is cut to used_bytes */
        uint64_t swappable_bytes;
        /* part of swappable_bytes that is in the host now; a larger value is cut */
        uint64_t out_bytes;
        /* What the session would have if its programs got the memory that they wait for: bytes on
         * the card, and pinned bytes. Values not above the present ones mean that no program
         * waits. */
        uint64_t wished_resident_bytes;
        uint64_t wished_pinned_bytes;
        /* a program's work is in flight, or a thread waits at a gate, now or a moment ago */
        bool is_busy;
        bool is_drained; /* every live process has answered order.gate */
};

enum swap_mode { SWAP_AUTO, SWAP_SERIAL, SWAP_PARALLEL };

/* The rules for all cards; the caller may change them at any time. All zero: the default described
 * above. */
struct swap_rules {
        enum swap_mode mode;
        uint64_t turn_ns; /* length of all turns; 0: derived from the cost of a change */
};

enum swap_state {
        SWAP_FREE,   /* the entry is free */
        SWAP_RUNS,   /* the gate is open, and no memory is in the host */
        SWAP_DRAINS, /* the gate is closed, and not all processes have answered */
        SWAP_HELD, /* all processes have answered; memory moves until order.resident_bytes is met */
};

/* A session's order; the caller writes it into the session's page. */
struct swap_order {
        /* value for limits_page.gate: 0 opens it; each hold has a number of its own */
        uint32_t gate;
        /* bytes that the session may have on the card */
        uint64_t resident_bytes;
        /* bytes that the session may have on the card and in the host together */
        uint64_t max_bytes;
        /* bytes that the session may have pinned */
        uint64_t pinned_bytes;
};

struct swap_session {
        uint8_t state; /* enum swap_state */
        uint8_t card;
        uint8_t class; /* enum swap_class */
        bool has_turn; /* the session runs, or is being brought in to run */
        struct swap_seen seen;
        struct swap_order order;
        /* the session cannot be brought in whole: the others have too much pinned memory */
        bool has_no_room;
        /* the session's wish for pinned memory will be granted, and answered, at a later step */
        bool is_asked;
        uint64_t turn_ns; /* when the gate was opened in this turn; 0: not yet */
        /* Since when the session has waited for a turn, or to grow; 0: it does not wait. */
        uint64_t waits_ns;
        uint64_t idle_ns;  /* since when the session has not been busy; 0: it is busy */
        uint64_t pause_ns; /* length of the session's last idle time */
        /* When the gate was closed; once drained, the time from which moves_bytes are counted. */
        uint64_t shut_ns;
        uint64_t moves_bytes; /* bytes moved since shut_ns */
        uint64_t stuck_ns; /* until when a stuck session is not tried again; 0: it is not stuck */
        /* how long the session will be left untried the next time that it gets stuck */
        uint64_t patience_ns;
        /* when the session got stuck first, if all tries since have failed; else 0 */
        uint64_t since_ns;
        bool is_overdue;
        /* Totals for display: number of holds, and the time and bytes below. */
        uint64_t holds;
        uint64_t held_ns;
        uint64_t moved_bytes; /* bytes moved out and in, together */
        /* Private. Upper bounds of the session's bytes under all orders since it was last seen: on
         * the card, in all, and pinned. */
        uint64_t may_reside_bytes, may_use_bytes, may_pin_bytes;
        /* Bytes on the card that an order allowed: the present order, or an earlier one if the
         * bytes have been seen on the card ever since. */
        uint64_t ordered_bytes;
        /* since when more than ordered_bytes has been seen on the card; 0: it has not */
        uint64_t beyond_ns;
        /* Scratch values of a step. */
        uint64_t grow_bytes, need_bytes, target_bytes;
        struct swap_order before;
        uint8_t kind; /* enum swap_kind */
        bool is_placed;
        bool is_told;  /* an order was made for the session */
        bool is_known; /* the session was seen after is_told was set */
        /* no memory was in the host when last seen, and none was ordered out since */
        bool is_whole;
};

struct swap_card {
        /* card memory for all sessions that swap together; set by the caller */
        uint64_t capacity_bytes;
        uint64_t cost_ns;   /* duration of the last change of turns; 0: not known yet */
        uint64_t turn_ns;   /* when the clock of the card's present turns started */
        uint64_t change_ns; /* when the present change began; 0: there is none */
        uint64_t changes;   /* number of changes, for display */
        bool is_short;      /* the sessions do not all fit, or may not all run */
        bool has_moved;     /* bytes were moved in the present change */
};

/* The state. For a new one the caller sets `gates`, the capacities and the rules; all else is
 * zero. Any code may read it. */
struct swap {
        struct swap_rules rules;
        uint32_t gates;   /* number of the last hold, see swap_order.gate */
        uint32_t entries; /* one above the last entry that was ever added */
        uint64_t now_ns;
        uint64_t next_ns; /* see swap_next_ns() */
        uint32_t count;   /* number of sessions */
        /* the entries of the sessions, sorted by card and then by rank */
        uint16_t list[SWAP_SESSIONS];
        struct swap_card card[SWAP_CARDS];
        struct swap_session session[SWAP_SESSIONS];
};

/* Adds a session. `entry` must be free. `gate` is the value in the session's page: after a restart
 * a session may be held already, with memory in the host. */
void swap_add(struct swap *swap, unsigned entry, unsigned card, enum swap_class class,
              uint32_t gate);
void swap_remove(struct swap *swap, unsigned entry);
/* Changes the class of a session. */
void swap_rank(struct swap *swap, unsigned entry, enum swap_class class);

/* Records what a session's pages say. */
void swap_see(struct swap *swap, unsigned entry, const struct swap_seen *seen);
/* Decides about all sessions, and updates their orders. */
void swap_step(struct swap *swap, uint64_t now_ns);
/* Returns the latest time of the next poll; SWAP_NEVER if there is no session. */
uint64_t swap_next_ns(const struct swap *swap);

#endif
