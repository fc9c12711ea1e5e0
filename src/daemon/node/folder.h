/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a session, as the daemon that owns it makes, changes and reads it.
 *
 * Everything may be asked for again: who carries actions out can have died after any of them. What
 * lies in `slots` is the tenant's and may be anything: it is read, never mapped, bounded, and used
 * for showing alone; whether somebody lives, and who is sent a signal, is the kernel's word.
 * A folder of that name which is not the session's is never changed: to shut or to remove it is to
 * do nothing, as where there is none.
 */
#ifndef ALIQUOT_DAEMON_NODE_FOLDER_H
#define ALIQUOT_DAEMON_NODE_FOLDER_H

#include <errno.h>

#include "core/sessions.h"
#include "machine/cards.h"
#include "store/store.h"
#include "store/usage.h"

#define FOLDER_USERS (-EEXIST)   /* it is a session that its user made */
#define FOLDER_NOBODYS (-ESTALE) /* a daemon's of another id, or damaged */

/* What a session's processes hold now. */
struct folder_use {
        unsigned count;
        struct usage_process process[PAGE_SLOTS];
        uint8_t uuid[PAGE_DEVICES][16]; /* whose bytes[i] are; zero: nobody's */
        /* Likewise: what its words say is used, by the living and by whom nobody has cleared up
         * after yet, the mark of its latest operation, and counters. */
        struct page_ledger ledger[PAGE_DEVICES];
};

/* The runtime folder, ready for sessions; other users can go through it where we are root. */
int folder_prepare(const struct store *store, struct error *err);

/* The folder with its limits, where there is none of that name. `cards`: how large its GPUs are. */
int folder_make(const struct store *store, const struct sessions_one *session,
                const struct cards *cards, struct error *err);

/* Its limits as they are now; to one that is clamped, no new memory. -ENOENT: it has no folder. */
int folder_limit(const struct store *store, const struct sessions_one *session, bool is_clamped,
                 struct error *err);
int folder_shut(const struct store *store, const struct sessions_one *session, struct error *err);

/* Sends a signal to every process of the session. Returns how many got it. At first one whose slot,
 * start, user and mapping do not all say that it is of this session gets nothing. Repeated, it goes
 * by the kernel's word alone: slots that name others cannot turn it away for long. Other processes
 * can make it wait without end (hunt.h). */
struct folder_signal {
        int number;
        bool is_repeated;
};
struct victim_walk;
int folder_signal(const struct store *store, const struct sessions_one *session,
                  const struct folder_signal *signal, struct victim_walk *walk);

/* Whether that could be tried: 0 also where it has no folder. */
int folder_can_signal(const struct store *store, const struct sessions_one *session,
                      struct error *err);

/* Without its programs' leave. 0 also when it is not there. */
int folder_remove(const struct store *store, const struct sessions_one *session, struct error *err);

/* 1: some process lives in it; 0: none does, or there is no such folder. Negative: it cannot be
 * told, so nobody may take it for empty. -EAGAIN: not now, as its owner's sessions were looked at a
 * lot (budget.h). */
int folder_is_live(const struct store *store, const struct sessions_one *session,
                   struct error *err);

/* Who lives in it and holds what. `ret` is large: static, or on the heap. -EAGAIN: as above, and
 * then ret->ledger is filled in all the same. */
int folder_read(const struct store *store, const struct sessions_one *session,
                struct folder_use *ret, struct error *err);

/* The pids of the first `count` that folder_read() has found just now, as names_find() has them: in
 * what that left of its time, whoever asks and whatever stands in slots. */
void folder_name(const struct sessions_one *session, struct folder_use *use, unsigned count);

/* What its ledger says alone, which takes as long for each session. */
int folder_read_ledger(const struct store *store, const struct sessions_one *session,
                       struct page_ledger ret[PAGE_DEVICES], struct error *err);

/* What all processes hold of a GPU. */
uint64_t folder_used_bytes(const struct folder_use *use, const uint8_t uuid[16]);

/* Whether a folder has this name, and whose it is: 1 the session's, 0 there is none, FOLDER_USERS
 * or FOLDER_NOBODYS. */
int folder_find(const struct store *store, const char *name, const uint8_t id[16],
                struct error *err);

#endif
