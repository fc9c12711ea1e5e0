/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the pages of a session that swaps, for the swapper's thread.
 *
 *      pages_open(&pages, store, session, &err)
 *      pages_look(pages, &about, &seen)        // reads what its programs have and want
 *      pages_write(pages, &order, &answer)     // writes what they may have, and the gate
 *
 * The tenant writes the page `slots`, which may contain anything, and may be truncated. So it is
 * read with pread() into daemon memory (schedule/seat.h says why), and one pages_look() reads at
 * most PAGES_SLOTS slots, whatever the page claims. If a session claims too little, it may be
 * allowed less than it holds. If it claims too much, other sessions get less, but at most by the
 * memory that this session was admitted with.
 *
 * The charges of a process that has died stay in its slot until another process of the session
 * recovers them, although its memory is no longer on the card. So pages_look() finds the slots of
 * dead processes and subtracts their charges. In a session with more than PAGES_SLOTS slots this
 * takes several calls.
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

#define PAGES_SLOTS 64u /* maximum number of slots that one pages_look() reads */
#define PAGES_ROWS 3u   /* rows of GPU memory, of host memory, and of swappable memory */

/* Progress of reading all slots, which can take several calls of pages_look(). */
struct pages_walk {
        uint32_t next;
        uint32_t high; /* number of slots to read; 0: reading has not begun */
};

struct pages {
        struct seat *seat;
        struct pages_walk answers;
        uint32_t gate; /* the gate number to which `answers` belongs */
        struct pages_walk buried;
        /* charges of dead slots, added up so far in this reading */
        uint64_t buried_bytes[PAGES_ROWS];
        /* the ledgers' reclaimed_bytes when this reading began */
        uint64_t reclaimed[PAGES_ROWS];
        /* charges of dead slots in the last complete reading */
        uint64_t dead_bytes[PAGES_ROWS];
        /* the ledgers' reclaimed_bytes when the last complete reading began */
        uint64_t dead_reclaimed[PAGES_ROWS];
        /* when the last complete reading ended; 0: there was none */
        uint64_t walked_ns;
        uint64_t rests_ns; /* no slot's lock is probed before this time */
        /* time of the wish that was read last; CLOCK_NEVER: none */
        uint64_t wished_ns;
        struct swap_order written;
        bool has_written;
};

/* Opens the pages, like seat_open(). -EPROTO: the session does not swap. pages_close() frees
 * them. */
int pages_open(struct pages **ret, const struct store *store, const struct sessions_one *session,
               struct error *err);
void pages_close(struct pages *pages);

/* Whether the session's folder still has this `slots` file, and not a replacement. */
bool pages_are_current(const struct pages *pages, const struct store *store,
                       const struct sessions_one *session);

/* Returns the gate in the page: 0 if it is open, or the number of a hold by an earlier daemon. */
uint32_t pages_gate(const struct pages *pages);

/* What pages_look() shall find out. */
struct pages_about {
        /* number of a hold: find out whether all processes have drained for it; 0: not needed */
        uint32_t gate;
        bool may_walk; /* also find dead slots, which takes a few system calls */
        uint64_t now_ns;
};

/* Reads what the session's programs have and want. A tenant can make this wait, as for seat_look().
 * Returns whether dead slots were read. */
bool pages_look(struct pages *pages, const struct pages_about *about, struct swap_seen *ret);

/* Writes an order if it differs from the last one, and wakes the threads that wait for it. The
 * order answers wishes that were written before `answered_ns`; 0: it answers none. */
void pages_write(struct pages *pages, const struct swap_order *order, uint64_t answered_ns);

#endif
