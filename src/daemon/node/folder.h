/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates, changes and reads the folder of a session, for the daemon that owns it.
 *
 * Every function may be repeated, because the daemon can die after any action. `slots` belongs to
 * the tenant and may contain anything: it is read with bounds, never mapped, and used for display
 * only. The kernel decides which process lives and which one gets a signal. A folder of that name
 * that is not the session's is never changed: shutting or removing it does nothing, as if there
 * were no folder.
 */
#ifndef ALIQUOT_DAEMON_NODE_FOLDER_H
#define ALIQUOT_DAEMON_NODE_FOLDER_H

#include <errno.h>

#include "core/sessions.h"
#include "machine/cards.h"
#include "store/store.h"
#include "store/usage.h"

#define FOLDER_USERS (-EEXIST)   /* the session was created by its user, not the daemon */
#define FOLDER_NOBODYS (-ESTALE) /* a daemon's of another id, or damaged */

/* What a session's processes hold now. */
struct folder_use {
        unsigned count;
        struct usage_process process[PAGE_SLOTS];
        uint8_t uuid[PAGE_DEVICES][16]; /* the GPU of bytes[i]; zero: none */
        /* By the same index: the ledger's usage (of living processes and of dead ones not yet
         * recovered), the mark of its latest operation, and counters. */
        struct page_ledger ledger[PAGE_DEVICES];
};

/* Prepares the runtime folder for sessions; if the daemon is root, other users may pass through
 * it. */
int folder_prepare(const struct store *store, struct error *err);

/* Creates the folder with its limits, if there is none of that name. `cards`: the sizes of its
 * GPUs. */
int folder_make(const struct store *store, const struct sessions_one *session,
                const struct cards *cards, struct error *err);

/* Writes the session's present limits; a clamped session gets no new memory. -ENOENT: it has no
 * folder. */
int folder_limit(const struct store *store, const struct sessions_one *session, bool is_clamped,
                 struct error *err);
int folder_shut(const struct store *store, const struct sessions_one *session, struct error *err);

/* Sends a signal to every process of the session. Returns how many got it. The first time, a
 * process gets it only if slot, start time, user and mapping all agree. Repeated, only the kernel's
 * mappings decide, so slots that name other processes cannot divert it for long. Other processes
 * can block this without end (hunt.h). */
struct folder_signal {
        int number;
        bool is_repeated;
};
struct victim_walk;
int folder_signal(const struct store *store, const struct sessions_one *session,
                  const struct folder_signal *signal, struct victim_walk *walk);

/* Whether folder_signal() can be tried: also 0 if there is no folder. */
int folder_can_signal(const struct store *store, const struct sessions_one *session,
                      struct error *err);

/* Removes the folder, also while programs run. Also 0 if it does not exist. */
int folder_remove(const struct store *store, const struct sessions_one *session, struct error *err);

/* 1: some process lives in the session; 0: none does, or there is no folder. Negative: unknown, so
 * treat it as not empty. -EAGAIN: not now, because the owner's budget is used up (budget.h). */
int folder_is_live(const struct store *store, const struct sessions_one *session,
                   struct error *err);

/* Lists the processes that live in the session and what they hold. `ret` is large: static, or on
 * the heap. -EAGAIN: as above; ret->ledger is filled in anyway. */
int folder_read(const struct store *store, const struct sessions_one *session,
                struct folder_use *ret, struct error *err);

/* Finds the pids of the first `count` processes that folder_read() has just listed, as
 * names_find(), in the rest of its time. */
void folder_name(const struct sessions_one *session, struct folder_use *use, unsigned count);

/* Reads only the ledger, which takes the same time for each session. */
int folder_read_ledger(const struct store *store, const struct sessions_one *session,
                       struct page_ledger ret[PAGE_DEVICES], struct error *err);

/* Memory that all its processes hold of a GPU. */
uint64_t folder_used_bytes(const struct folder_use *use, const uint8_t uuid[16]);

/* Whether a folder has this name: 1 it is the session's, 0 there is none, FOLDER_USERS or
 * FOLDER_NOBODYS. */
int folder_find(const struct store *store, const char *name, const uint8_t id[16],
                struct error *err);

#endif
