/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the swapper's files.
 *
 *      swapper.c        starts and stops it; the thread: looks, steps, writes, shows
 *      swapper_ask.c    what the loop calls: sessions and GPUs that come, change and go, and views
 *
 * The loop writes an entry and a wish. The thread executes the wish in its next pass, and owns the
 * entry's pages from then on until it frees the entry.
 */
#ifndef ALIQUOT_DAEMON_SWAP_SWAPPER_PARTS_H
#define ALIQUOT_DAEMON_SWAP_SWAPPER_PARTS_H

#include <pthread.h>

#include "common/atomic.h"
#include "daemon/swap/pages.h"
#include "daemon/swap/swapper.h"

_Static_assert(SESSIONS_MAX <= SWAP_SESSIONS && SESSIONS_GPUS <= SWAP_CARDS,
               "the core has a place for each session and each GPU");

/* What the loop asks for an entry; the thread executes it in its next pass. */
enum wish { WISH_NOTHING, WISH_ADD, WISH_DROP };

/* Under the lock. */
struct swapper_entry {
        bool is_taken;
        uint8_t id[16];
        uint8_t wish; /* enum wish */
        uint8_t card;
        uint8_t class;
        uint64_t ceiling_bytes; /* sessions_share.ceiling_bytes */
        bool is_seen;
        struct swapper_view view;
        uint64_t told_stuck;
        bool is_overdue;     /* it is overdue, and swapper_next_stuck() has not returned it yet */
        struct pages *pages; /* opened by the loop; then owned by the thread, which closes them */
};

/* The thread's own part of an entry. */
struct holder {
        struct pages *pages; /* NULL: no session was added here */
        uint64_t ceiling_bytes;
        uint64_t pinned_bytes; /* the last value that counted */
        uint64_t over_ns;      /* since when more is pinned than was granted; 0: it is not */
        uint64_t hold_from_ns; /* the session's held_ns before the present hold */
        bool was_stuck, was_overdue;
};

struct swapper_card {
        uint8_t gpu[16];
        unsigned entries; /* sessions on it; 0: another GPU may take this index */
        uint64_t capacity_bytes;
};

struct swapper {
        const struct store *store;
        pthread_t thread;
        bool has_thread;
        _Atomic uint32_t bell;
        int told; /* eventfd */
        pthread_mutex_t lock;
        bool is_ending;
        unsigned entries; /* one above the last index that was ever taken */
        unsigned count;
        struct swap_rules rules;
        struct swapper_card card[SWAP_CARDS];
        struct swapper_entry entry[SWAP_SESSIONS];
        /* Used by the thread alone. */
        struct swap swap;
        struct holder holder[SWAP_SESSIONS];
        unsigned walk_from;
        unsigned walks;
};

/* Wakes the thread. */
void swapper_ring(struct swapper *self);
/* Starts the thread if it does not run. */
int swapper_run(struct swapper *self, struct error *err);

#endif
