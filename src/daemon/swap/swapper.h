/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor of core/swap: a thread that reads the pages of sessions that swap, and writes how
 * much each may have on its GPU, and its gate.
 *
 *      swapper_start(&swapper, store, &err)
 *      swapper_give(swapper, gpu, bytes)       // what sessions that swap may have there together
 *      swapper_put(swapper, session, ...)      // its folder was made, or its terms changed
 *      swapper_drop(swapper, id)               // it is about to go
 *      swapper_read(swapper, id, &view)        // for views
 *      swapper_stop(swapper)
 *
 * A thread of its own, since a change of turns is many short steps: the loop may be busy with a
 * database, and the scheduler's thread must not wait for the page of a session that it does not
 * lease to. It is started with the first session that swaps. All functions here are the loop's, and
 * wait for no page.
 *
 * When the daemon goes, gates and orders stay as they are: the memory of a held session is out. The
 * next daemon takes each session up as its page says.
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

/* `store` is borrowed for the swapper's life. */
int swapper_start(struct swapper **ret, const struct store *store, struct error *err);
void swapper_stop(struct swapper *swapper); /* NULL is fine */

/* Readable when swapper_next_stuck() has something to tell. */
int swapper_fd(const struct swapper *swapper);

void swapper_give(struct swapper *swapper, const uint8_t gpu[16], uint64_t capacity_bytes);

/* `session` swaps; it is borrowed for the call. A new one takes a descriptor, of which there are to
 * be `most`. On failure (-EMFILE, and those of pages_open()) its orders stay as they were. */
int swapper_put(struct swapper *swapper, const struct sessions_one *session, unsigned most,
                struct error *err);
/* One that was never put is passed over. */
void swapper_drop(struct swapper *swapper, const uint8_t id[16]);

struct swapper_view {
        enum swap_state state;
        bool is_stuck;
        uint64_t holds, held_ns, moved_bytes; /* since the daemon began */
        uint64_t stuck;                       /* how often it got stuck */
};

/* False: it was never put, or the thread has not looked at it yet. */
bool swapper_read(struct swapper *swapper, const uint8_t id[16], struct swapper_view *ret);

/* A session that got stuck since it was last told of; false: there is none. */
bool swapper_next_stuck(struct swapper *swapper, uint8_t ret_id[16]);

#endif
