/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the pages of a session that swaps, for the swapper's thread.
 *
 *      pages_open(&pages, store, session, &err)
 *      pages_look(pages, &about, &seen)        // `slots`: what its programs have, want, answered
 *      pages_write(pages, &order, &answer)     // `limits`: what they may have, and the gate
 *
 * The tenant writes `slots`: it may hold anything, and may shrink. So it is read by pread() into
 * daemon memory (schedule/seat.h says why), and one look reads at most PAGES_SLOTS slots, whatever
 * the page claims. A false claim harms the session itself: if it claims too little, it may have
 * less than it has; if too much, other sessions get less, but only up to what this one was admitted
 * with.
 *
 * A process that dies gives nothing back: its charges stay in its slot until another process of the
 * session recovers them. Its memory is no longer on the card, so a look finds the dead slots and
 * subtracts their charges. In a session with more than PAGES_SLOTS slots this takes several looks.
 *
 * One thread, except for pages_open().
 */
#ifndef ALIQUOT_DAEMON_SWAP_PAGES_H
#define ALIQUOT_DAEMON_SWAP_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sessions.h"
#include "core/swap.h"
#include "daemon/schedule/seat.h"

#define PAGES_SLOTS 64u /* slots that one look reads */
#define PAGES_ROWS 3u   /* the GPU's, the host's, and the row of swappable memory */

/* A walk over all slots. It can take several looks. */
struct pages_walk {
        uint32_t next;
        uint32_t high; /* end of the walk; 0: it has not begun */
};

struct pages {
        struct seat *seat;
        struct pages_walk answers;
        uint32_t gate; /* the hold that `answers` belongs to */
        struct pages_walk buried;
        uint64_t buried_bytes[PAGES_ROWS];   /* of dead slots, summed up so far in this walk */
        uint64_t reclaimed[PAGES_ROWS];      /* the ledgers' counters when this walk began */
        uint64_t dead_bytes[PAGES_ROWS];     /* of dead slots, by the last complete walk, */
        uint64_t dead_reclaimed[PAGES_ROWS]; /* and the ledgers' counters at its beginning */
        uint64_t walked_ns;                  /* when the last complete walk ended; 0: none has */
        uint64_t rests_ns;                   /* its slots are not probed before this time */
        uint64_t wished_ns;                  /* time of the wish last seen; CLOCK_NEVER: none */
        struct swap_order written;
        bool has_written;
};

/* As seat_open(); -EPROTO: the page does not belong to a session that swaps. pages_close() frees
 * it. */
int pages_open(struct pages **ret, const struct store *store, const struct sessions_one *session,
               struct error *err);
void pages_close(struct pages *pages);

/* Whether the session's folder still has these files, and was not replaced. */
bool pages_are_current(const struct pages *pages, const struct store *store,
                       const struct sessions_one *session);

/* The gate in the page: 0, or a hold of an earlier daemon. */
uint32_t pages_gate(const struct pages *pages);

/* What a look reads. */
struct pages_about {
        uint32_t gate; /* a hold: have all processes answered it? 0: not asked */
        bool may_walk; /* look for dead slots too: a few system calls */
        uint64_t now_ns;
};

/* May wait, as seat_look() does. Returns whether it walked. */
bool pages_look(struct pages *pages, const struct pages_about *about, struct swap_seen *ret);

/* Writes an order if it differs from the last one, and wakes the threads that wait for it. The
 * order answers the wishes that were written before `answered_ns`; 0: it answers none. */
void pages_write(struct pages *pages, const struct swap_order *order, uint64_t answered_ns);

#endif
