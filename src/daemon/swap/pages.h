/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of a session that swaps, as the thread that deals its turns reads and writes them.
 *
 *      pages_open(&pages, store, session, &err)
 *      pages_look(pages, &about, &seen)        // `slots`: what its programs have, want, answered
 *      pages_write(pages, &order, &answer)     // `limits`: what they may have, and the gate
 *
 * `slots` is the tenant's, may be anything, and may go. It is read by pread() into memory of ours
 * (schedule/seat.h says why), and no more of it in one look than PAGES_SLOTS slots, whatever it
 * says how many there are. What it claims is its own session's loss: too little, and the session is
 * told to have less than it has; too much, and others get less, as far as the session was admitted.
 *
 * A process that ends gives nothing back: its charges lie in its slot until another process of the
 * session takes them back. So what dead slots hold is found here, and is not counted. It lies on no
 * card. Where the session has had more than PAGES_SLOTS slots, that takes several looks.
 *
 * One thread, but for pages_open().
 */
#ifndef ALIQUOT_DAEMON_SWAP_PAGES_H
#define ALIQUOT_DAEMON_SWAP_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sessions.h"
#include "core/swap.h"
#include "daemon/schedule/seat.h"

#define PAGES_SLOTS 64u /* that one look reads */
#define PAGES_ROWS 3u   /* the GPU's, the host's, and that of what can leave the GPU */

/* A walk over the slots, which can take several looks. */
struct pages_walk {
        uint32_t next;
        uint32_t high; /* it ends there; 0: it has not begun */
};

struct pages {
        struct seat *seat;
        struct pages_walk answers;
        uint32_t gate; /* the hold that `answers` is about */
        struct pages_walk buried;
        uint64_t buried_bytes[PAGES_ROWS];   /* of dead slots, as far as this walk has come */
        uint64_t reclaimed[PAGES_ROWS];      /* the ledgers' counters when it began */
        uint64_t dead_bytes[PAGES_ROWS];     /* as the last whole walk found them, */
        uint64_t dead_reclaimed[PAGES_ROWS]; /* while the counters were these */
        uint64_t walked_ns;                  /* when the last whole walk ended; 0: none has */
        uint64_t wished_ns;                  /* of the wish that was seen; CLOCK_NEVER: none */
        struct swap_order written;
        bool has_written;
};

/* As seat_open(); -EPROTO: its page is none of a session that swaps. Freed by pages_close(). */
int pages_open(struct pages **ret, const struct store *store, const struct sessions_one *session,
               struct error *err);
void pages_close(struct pages *pages);

/* Whether the session's folder still has these files: it may have been made anew. */
bool pages_are_current(const struct pages *pages, const struct store *store,
                       const struct sessions_one *session);

/* The gate as the page says it: of an earlier daemon, or 0. */
uint32_t pages_gate(const struct pages *pages);

/* What a look is about. */
struct pages_about {
        uint32_t gate; /* whether all have answered this hold; 0: that is not asked */
        bool may_walk; /* dead slots may be looked for now: a few system calls each look */
        uint64_t now_ns;
};

/* May wait, as seat_look() does. Returns whether it walked. */
bool pages_look(struct pages *pages, const struct pages_about *about, struct swap_seen *ret);

/* Writes an order, if it is another one, and wakes whoever waits for it. Wishes that were written
 * before `answered_ns` are answered by it; 0: none is. */
void pages_write(struct pages *pages, const struct swap_order *order, uint64_t answered_ns);

#endif
