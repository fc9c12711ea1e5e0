/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission in a session that swaps: checks each request against what the session may have on its
 * card now (struct page_room), and waits for room.
 *
 *      charge, then room_admits()              // false: give the charge back, and ...
 *      room_wait()                             // ... wait, with no lock and outside of every call;
 *                                              // true: try again; false: refuse
 *
 * The charge is made first, and the words of the page are read behind a fence. So the daemon, which
 * lowers a word and then reads the ledger, sees every charge that an older word admitted.
 *
 * A request that finds too little room writes a wish into the page and waits. A request for more
 * than the session may ever have is refused at once. A request for pinned memory is refused when
 * the daemon has answered its wish and it still does not fit. Every request is refused when no
 * daemon answers for 5 s. A check may count the charge of another thread that is about to give it
 * back, so no request is refused at the first look. Any thread; no CUDA type.
 */
#ifndef ALIQUOT_SHIM_ROOM_H
#define ALIQUOT_SHIM_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/sums.h"

/* Rows of the page. All are CHARGE_NO_DEVICE if the session does not swap. */
struct room_rows {
        int card; /* all memory of the session on its GPU, wherever it is now */
        int out;  /* memory that is in the host now */
        int swap; /* swappable memory: it can be in the host */
};
struct room_rows room_rows(void);

static inline bool room_is_kept(void)
{
        return room_rows().card >= 0;
}

/* Takes the bytes of dead processes back, in all three rows. The daemon does not count them, so its
 * words have no room for them. */
void room_reap(void);

/* The session's ledgers and limits, as the page has them. */
struct room_books {
        uint64_t used_bytes;
        uint64_t swappable_bytes;
        uint64_t out_bytes;
        uint64_t limit_bytes;
        uint64_t resident_bytes; /* this and the next ones: struct page_room */
        uint64_t most_bytes;
        uint64_t pinned_bytes;
        uint64_t answered_at_ns;
};
struct room_books room_read(void);

enum room_answer {
        ROOM_FITS,
        ROOM_SHORT,  /* the card has no room now; other sessions can make room */
        ROOM_PINNED, /* more than the session may have pinned now */
        ROOM_NEVER,  /* more than the session may ever have */
};
enum room_kind { ROOM_OF_PINNED, ROOM_OF_SWAPPABLE };

/* Whether `more_bytes` fit beside what is charged already. */
enum room_answer room_answer(const struct room_books *books, uint64_t more_bytes,
                             enum room_kind kind);

/* After a charge: whether the session may keep it. */
bool room_admits(enum room_kind kind);

/* Bytes of the session that are on the card, and how many of them must leave it. */
uint64_t room_excess(const struct room_books *books);
static inline uint64_t room_resident(const struct room_books *books)
{
        return difference_of(books->used_bytes, books->out_bytes);
}

/* What a waiting request asks the daemon for: bytes of the session on the card and pinned, with the
 * request. */
struct room_wish {
        uint64_t resident_bytes;
        uint64_t pinned_bytes;
};

/* The state of one waiting request; all zero at first. */
struct room_wait {
        uint64_t began_ns;
        struct room_wish wish;
        uint64_t wished_ns; /* since when `wish` is in the page; 0: it is not */
        unsigned looks;     /* that found nothing to wait for */
};

/* A request. */
struct room_want {
        int row;
        uint64_t bytes;
        enum room_kind kind;
        bool is_held; /* the gate is shut: the calling thread would wait there if it went on */
};

/* After room_admits() said false: waits up to 10 ms, with the wish in the page. True: try again. */
bool room_wait(struct room_wait *wait, const struct room_want *want);

/* Writes into the page that a thread waits at the session's shut gate. */
void room_stand(void);

#endif
