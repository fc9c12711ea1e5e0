/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swapper: a thread that decides, with core/swap, which sessions that swap may have memory on
 * their GPU. It reads the pages of all sessions that swap, and writes into each how much memory the
 * session may have on its GPU, and the gate, which stops the session's work while its memory is
 * moved to the host.
 *
 *      swapper_start(&swapper, store, &err)
 *      swapper_give(swapper, gpu, bytes)       // limit of all sessions that swap there
 *      swapper_rule(swapper, &rules)           // mode and length of turns
 *      swapper_put(swapper, session, ...)      // session's folder was made or changed
 *      swapper_drop(swapper, id)               // session is about to be removed
 *      swapper_read(swapper, id, &view)        // state, for the API
 *      swapper_stop(swapper)
 *
 * It has a thread of its own because changing which session's memory is on the GPU takes many short
 * steps: the event loop may be busy with the database, and the scheduler's thread must not wait for
 * a page that it does not need. The first session that swaps starts the thread. The event loop
 * calls all functions declared here; none of them waits for a page.
 *
 * When the daemon ends, it leaves gates and orders in the pages unchanged, because the memory of
 * held sessions is in the host. The next daemon continues from the state of each page.
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
void swapper_stop(struct swapper *swapper); /* ends the thread; `swapper` may be NULL */

/* Returns a descriptor that is readable when swapper_next_stuck() has a session to return. */
int swapper_fd(const struct swapper *swapper);

void swapper_give(struct swapper *swapper, const uint8_t gpu[16], uint64_t capacity_bytes);

/* Sets the rules for all GPUs; they apply from the thread's next pass on. */
void swapper_rule(struct swapper *swapper, const struct swap_rules *rules);
struct swap_rules swapper_rules(struct swapper *swapper);

/* Adds or changes a session that swaps, which is borrowed for the call. A new session needs a
 * descriptor, so at most `most` sessions are added. On failure (-EMFILE if there are too many,
 * -ENOSPC, or the errors of pages_open()) the session's orders stay unchanged. */
int swapper_put(struct swapper *swapper, const struct sessions_one *session, unsigned most,
                struct error *err);
/* Removes a session; does nothing if the swapper does not know it. */
void swapper_drop(struct swapper *swapper, const uint8_t id[16]);

struct swapper_view {
        enum swap_state state;
        bool is_stuck;
        /* since the swapper first saw the session: number of holds, time in holds, bytes moved */
        uint64_t holds, held_ns, moved_bytes;
        uint64_t hold_ns; /* time in the present hold; 0: the session is not held */
        uint64_t stuck;   /* number of times that it got stuck */
};

/* Fills in a session's state. False: the swapper does not know it, or the thread has not seen it
 * yet. */
bool swapper_read(struct swapper *swapper, const uint8_t id[16], struct swapper_view *ret);

/* Returns the next session that got stuck, or became overdue (is_overdue), and was not yet returned
 * for that. False: there is none. */
struct swapper_stuck {
        uint8_t id[16];
        bool is_overdue;
};
bool swapper_next_stuck(struct swapper *swapper, struct swapper_stuck *ret);

#endif
