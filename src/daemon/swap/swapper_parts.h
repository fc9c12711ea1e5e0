/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the swapper's files.
 *
 *      swapper.c        start and stop, and the thread
 *      swapper_ask.c    the functions that the event loop calls
 *
 * The event loop fills in an entry and writes a request (wish) to it. The thread carries the
 * request out in its next pass, and owns the entry's pages from then on until it frees the entry.
 */
#ifndef ALIQUOT_DAEMON_SWAP_SWAPPER_PARTS_H
#define ALIQUOT_DAEMON_SWAP_SWAPPER_PARTS_H

#include <pthread.h>

#include "common/atomic.h"
#include "daemon/swap/pages.h"
#include "daemon/swap/swapper.h"

_Static_assert(SESSIONS_MAX <= SWAP_SESSIONS && SESSIONS_GPUS <= SWAP_CARDS,
               "the core has a place for each session and each GPU");

/* What the event loop requests for an entry. */
enum wish { WISH_NOTHING, WISH_ADD, WISH_DROP };

/* A session, as the event loop and the thread share it; guarded by the lock. */
struct swapper_entry {
        bool is_taken;
        uint8_t id[16];
        uint8_t wish; /* a request, as enum wish */
        uint8_t card;
        uint8_t class;
        uint64_t ceiling_bytes; /* sessions_share.ceiling_bytes of its only share */
        bool is_seen;
        struct swapper_view view;
        uint64_t told_stuck;
        /* it became overdue, and swapper_next_stuck() has not returned that yet */
        bool is_overdue;
        /* opened by the event loop; then owned by the thread, which closes them */
        struct pages *pages;
};

/* What only the thread keeps of an entry. */
struct holder {
        struct pages *pages; /* NULL: the thread has no session in this entry */
        uint64_t ceiling_bytes;
        uint64_t pinned_bytes; /* the value that counts now: see pinned_bytes() in swapper.c */
        uint64_t over_ns;      /* since when more is pinned than was granted; 0: it is not */
        uint64_t hold_from_ns; /* the session's held_ns when the present hold began */
        bool was_stuck, was_overdue;
};

struct swapper_card {
        uint8_t gpu[16];
        unsigned entries; /* number of sessions on this GPU; 0: another GPU may take this index */
        uint64_t capacity_bytes;
};

struct swapper {
        const struct store *store;
        pthread_t thread;
        bool has_thread;
        _Atomic uint32_t bell;
        int told; /* eventfd that wakes the event loop */
        pthread_mutex_t lock;
        bool is_ending;
        unsigned entries; /* one more than the last index that was ever used */
        unsigned count;
        struct swap_rules rules;
        struct swapper_card card[SWAP_CARDS];
        struct swapper_entry entry[SWAP_SESSIONS];
        /* The fields below are used by the thread only. */
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
