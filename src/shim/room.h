/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission in a session that swaps (several sessions share a card, and their memory moves between
 * card and host): checks each request against what the session may have on its card now (struct
 * page_room), and waits for room.
 *
 *      charge, then room_admits()              // false: give the charge back, and ...
 *      room_wait()                             // ... wait, with no lock and outside of every call;
 *                                              // true: try again; false: refuse
 *
 * The charge is made first, and the words of the page are read behind a fence. The daemon lowers a
 * word and then reads the ledger. So it sees every charge that an older word admitted.
 *
 * A request that finds too little room writes a wish into the page (how much memory the session
 * would have) and waits. A request for more than the session may ever have is refused at once. A
 * request for pinned memory is refused if the daemon has answered its wish and it still does not
 * fit. Every request is refused if no daemon has answered for 5 s. A check may count the charge of
 * another thread that is about to give it back, so no request is refused after a single check. Any
 * thread may call; no CUDA type.
 */
#ifndef ALIQUOT_SHIM_ROOM_H
#define ALIQUOT_SHIM_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/sums.h"

/* The session's rows in the page. All are CHARGE_NO_DEVICE if the session does not swap. */
struct room_rows {
        int card; /* row of all memory of the session on its GPU, wherever the memory is now */
        int out;  /* row of the memory that is in the host now */
        int swap; /* row of the swappable memory, which can be in the host */
};
/* Returns the session's rows. */
struct room_rows room_rows(void);

/* Whether the session swaps, so that requests need room on its card. */
static inline bool room_is_kept(void)
{
        return room_rows().card >= 0;
}

/* Gives back the charges of dead processes, in all three rows. The daemon does not count these
 * bytes, so the words that it writes leave no room for them. */
void room_reap(void);

/* The session's ledgers and limits, as read from the page. */
struct room_books {
        /* memory of the session, on the card or in the host */
        uint64_t used_bytes;
        /* part of used_bytes that can be moved to the host */
        uint64_t swappable_bytes;
        /* part of swappable_bytes that is in the host now */
        uint64_t out_bytes;
        uint64_t limit_bytes;
        uint64_t resident_bytes; /* This field and the following ones: see struct page_room. */
        uint64_t max_bytes;
        uint64_t pinned_bytes;
        uint64_t answered_at_ns;
};
/* Reads the ledgers and limits from the page; all zero if the session does not swap. */
struct room_books room_read(void);

enum room_answer {
        ROOM_FITS,
        ROOM_SHORT,  /* the card has no room now; other sessions can make room */
        ROOM_PINNED, /* more than the session may have pinned now */
        ROOM_NEVER,  /* more than the session may ever have */
};
enum room_kind { ROOM_OF_PINNED, ROOM_OF_SWAPPABLE };

/* Whether `more_bytes` fit beside what is already charged, for a request of this kind. */
enum room_answer room_answer(const struct room_books *books, uint64_t more_bytes,
                             enum room_kind kind);

/* Whether the session may keep a charge that was just made. */
bool room_admits(enum room_kind kind);

/* room_excess() returns how many bytes of the session must leave the card; room_resident()
 * returns how many are on it. */
uint64_t room_excess(const struct room_books *books);
static inline uint64_t room_resident(const struct room_books *books)
{
        return difference_of(books->used_bytes, books->out_bytes);
}

/* What a waiting request asks of the daemon: the bytes that the session would have on the card,
 * and pinned, with the request. */
struct room_wish {
        uint64_t resident_bytes;
        uint64_t pinned_bytes;
};

/* The state of one waiting request; all zero at first. */
struct room_wait {
        /* when the first wait began */
        uint64_t began_ns;
        struct room_wish wish;
        uint64_t wished_ns; /* since when `wish` is in the page; 0: it is not there */
        unsigned looks;     /* number of checks that found nothing to wait for */
};

/* A request that waits. */
struct room_want {
        /* the row that the request charges */
        int row;
        uint64_t bytes;
        enum room_kind kind;
        bool is_held; /* the gate is closed, so the calling thread would wait there if it went on */
};

/* Waits up to 10 ms for room, with the request's wish in the page, after room_admits() returned
 * false. Returns true to try again, false to refuse the request. */
bool room_wait(struct room_wait *wait, const struct room_want *want);

/* Writes into the page that a thread waits at the session's closed gate. */
void room_stand(void);

#endif
