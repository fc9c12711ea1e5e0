/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session that swaps may have on its card now (struct page_room): admission and waiting.
 *
 *      charge, then room_admits()              // false: give it back
 *      room_wait() until it says false         // meanwhile, with no lock and out of every call:
 *                                              // true: try again
 *
 * A charge is made first and the words are read behind a fence, so that nobody is admitted by words
 * that the daemon has lowered before it looked at the ledger. Who finds too little room writes a
 * wish into the page and waits. A request that is more than the session may ever have is refused at
 * once; one of pinned memory, when the daemon has answered a wish and it does not fit; any, when no
 * daemon answers for 5 s. Another thread's charge may be on its way back when ours is checked, so
 * nothing is refused for a first look. Any thread; no CUDA type; nothing is kept but the rows.
 */
#ifndef ALIQUOT_SHIM_ROOM_H
#define ALIQUOT_SHIM_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Rows of the page; CHARGE_NO_DEVICE: the session does not swap. */
struct room_rows {
        int card; /* its GPU's */
        int out;  /* what is in the host */
        int swap; /* what can be */
};
struct room_rows room_rows(void);

static inline bool room_is_kept(void)
{
        return room_rows().card >= 0;
}

/* Takes the bytes of dead processes back, in all three rows. The daemon does not count them, so its
 * words have no room for them. */
void room_reap(void);

/* What the page says. */
struct room_books {
        uint64_t used_bytes;
        uint64_t swappable_bytes;
        uint64_t out_bytes;
        uint64_t limit_bytes;
        uint64_t resident_bytes; /* from here on: page_room */
        uint64_t most_bytes;
        uint64_t pinned_bytes;
        uint64_t answered_at_ns;
};
struct room_books room_read(void);

enum room_answer {
        ROOM_FITS,
        ROOM_SHORT,  /* others may make room on the card */
        ROOM_PINNED, /* more than may be pinned now */
        ROOM_NEVER,
};
enum room_kind { ROOM_OF_PINNED, ROOM_OF_SWAPPABLE };

/* Whether so many bytes more fit. */
enum room_answer room_answer(const struct room_books *books, uint64_t more_bytes,
                             enum room_kind kind);

/* After the charge: whether it may stay. */
bool room_admits(enum room_kind kind);

/* Bytes on the card now, and how many of them are too many. */
uint64_t room_excess(const struct room_books *books);
static inline uint64_t room_resident(const struct room_books *books)
{
        return books->used_bytes -
               (books->out_bytes < books->used_bytes ? books->out_bytes : books->used_bytes);
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
        unsigned looks;     /* that found no reason to wait, or a reason to refuse */
};

/* What is asked for, and whether the caller would stand at a gate if it went on now. */
struct room_want {
        int row;
        uint64_t bytes;
        enum room_kind kind;
        bool is_held;
};

/* After a refusal: waits a little, with a wish on the page. True: to be tried again. */
bool room_wait(struct room_wait *wait, const struct room_want *want);

/* A thread stands at the session's shut gate. */
void room_stand(void);

#endif
