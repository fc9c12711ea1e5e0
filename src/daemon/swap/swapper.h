/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swapper: a thread that executes core/swap. It reads the pages of all sessions that swap, and
 * writes into each how much memory the session may have on its GPU, and its gate.
 *
 *      swapper_start(&swapper, store, &err)
 *      swapper_give(swapper, gpu, bytes)       // what sessions that swap may have there together
 *      swapper_rule(swapper, &rules)           // how turns are dealt
 *      swapper_put(swapper, session, ...)      // its folder was made, or its terms changed
 *      swapper_drop(swapper, id)               // it is about to go
 *      swapper_read(swapper, id, &view)        // for views
 *      swapper_stop(swapper)
 *
 * It has its own thread because a change of turns is many short steps: the loop may be busy with
 * the database, and the scheduler's thread must not wait for a page that it does not need. The
 * first session that swaps starts the thread. The loop calls all functions here; they do not wait
 * for a page.
 *
 * When the daemon ends, gates and orders stay as they are, since memory of held sessions is out.
 * The next daemon continues from each page's state.
 */
#ifndef ALIQUOT_DAEMON_SWAP_SWAPPER_H
#define ALIQUOT_DAEMON_SWAP_SWAPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "core/sessions.h"
#include "core/swap.h"
#include "store/store.h"

struct swapper;

/* Borrows `store` until swapper_stop(). */
int swapper_start(struct swapper **ret, const struct store *store, struct error *err);
void swapper_stop(struct swapper *swapper); /* NULL is fine */

/* Readable when swapper_next_stuck() has a session to return. */
int swapper_fd(const struct swapper *swapper);

void swapper_give(struct swapper *swapper, const uint8_t gpu[16], uint64_t capacity_bytes);

/* Holds for all GPUs, from the next pass on. */
void swapper_rule(struct swapper *swapper, const struct swap_rules *rules);
struct swap_rules swapper_rules(struct swapper *swapper);

/* `session` swaps, and is borrowed for the call. A new session takes a descriptor; at most `most`
 * sessions are taken. On failure (-EMFILE, or as pages_open()) the session's orders stay as they
 * were. */
int swapper_put(struct swapper *swapper, const struct sessions_one *session, unsigned most,
                struct error *err);
/* Ignores a session that was never put. */
void swapper_drop(struct swapper *swapper, const uint8_t id[16]);

struct swapper_view {
        enum swap_state state;
        bool is_stuck;
        uint64_t holds, held_ns, moved_bytes; /* since the daemon began */
        uint64_t hold_ns; /* the part of held_ns in the present hold; 0: it runs */
        uint64_t stuck;   /* how often it got stuck */
};

/* False: the session was never put, or the thread has not seen it yet. */
bool swapper_read(struct swapper *swapper, const uint8_t id[16], struct swapper_view *ret);

/* Returns the next session that got stuck, or is overdue, and was not yet returned for that; false:
 * there is none. */
struct swapper_stuck {
        uint8_t id[16];
        bool is_overdue;
};
bool swapper_next_stuck(struct swapper *swapper, struct swapper_stuck *ret);

#endif
