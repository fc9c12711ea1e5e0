/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates, changes and reads the folder of a session that the daemon owns.
 *
 * Every function may be repeated, because the daemon can die after any action. `slots` belongs to
 * the tenant and may contain anything: it is read with bounds, never mapped, and used for display
 * only. Whether a process lives, and whether it gets a signal, depends on what the kernel reports.
 * A folder that has the session's name but belongs to another session is never changed:
 * folder_shut() and folder_remove() do nothing and return 0, as if there were no folder.
 */
#ifndef ALIQUOT_DAEMON_NODE_FOLDER_H
#define ALIQUOT_DAEMON_NODE_FOLDER_H

#include <errno.h>

#include "core/sessions.h"
#include "machine/cards.h"
#include "store/store.h"
#include "store/usage.h"

#define FOLDER_USERS (-EEXIST)   /* a user created this session, not the daemon */
#define FOLDER_NOBODYS (-ESTALE) /* a daemon created it with another id, or it is damaged */

/* The processes of a session and the memory that they hold now. */
struct folder_use {
        unsigned count;
        struct usage_process process[PAGE_SLOTS];
        /* the GPU to which bytes[i] and ledger[i] belong; all zeroes: the row is unused */
        uint8_t uuid[PAGE_DEVICES][16];
        /* For GPU uuid[i]: the bytes that the ledger counts (for living processes and for dead ones
         * whose charges are not yet recovered), the tag of the latest operation, and counters. */
        struct page_ledger ledger[PAGE_DEVICES];
};

/* Creates the folder in which sessions get their folders. If the daemon is root, gives both folders
 * mode 0711, so that other users can reach their sessions. */
int folder_prepare(const struct store *store, struct error *err);

/* Creates the session's folder with its limits. `cards` gives the sizes of the session's GPUs. */
int folder_make(const struct store *store, const struct sessions_one *session,
                const struct cards *cards, struct error *err);

/* Writes the session's present limits to its page. If `is_clamped`, the session gets no new memory.
 * -ENOENT: the session has no folder. */
int folder_limit(const struct store *store, const struct sessions_one *session, bool is_clamped,
                 struct error *err);
int folder_shut(const struct store *store, const struct sessions_one *session, struct error *err);

/* Sends a signal to every process of the session. Returns how many processes got it. On the first
 * try (is_repeated is false) a process gets it only if slot, start time, user and mapping all
 * agree. On a repeated try the slots are not read: the kernel's list of mappings alone decides, so
 * forged slots cannot divert the signal for long. Processes of tenants can block this call without
 * end, so it runs in a child (hunt.h). */
struct folder_signal {
        int number;
        bool is_repeated;
};
struct victim_walk;
int folder_signal(const struct store *store, const struct sessions_one *session,
                  const struct folder_signal *signal, struct victim_walk *walk);

/* Checks that the session's folder can be opened, which folder_signal() needs. 0: it can, or the
 * session has no folder. */
int folder_can_signal(const struct store *store, const struct sessions_one *session,
                      struct error *err);

/* Removes the session's folder, even while programs run. 0: it is removed, or did not exist. */
int folder_remove(const struct store *store, const struct sessions_one *session, struct error *err);

/* Whether some process lives in the session. 1: yes. 0: no, or there is no folder. Negative:
 * unknown, so treat the session as not empty. -EAGAIN: not checked, because the owner's budget is
 * used up (budget.h). */
int folder_is_live(const struct store *store, const struct sessions_one *session,
                   struct error *err);

/* Lists the processes that live in the session and the memory that they hold. `ret` is large, so it
 * must be static or on the heap. -EAGAIN: the owner's budget is used up; ret->ledger is filled in
 * anyway. */
int folder_read(const struct store *store, const struct sessions_one *session,
                struct folder_use *ret, struct error *err);

/* Finds the pids of the first `count` processes in `use`, which folder_read() has just filled in,
 * with names_find(). Uses at most the time that folder_read() left of the budget. */
void folder_name(const struct sessions_one *session, struct folder_use *use, unsigned count);

/* Reads the session's ledger and not its slots, which takes the same time for each session. */
int folder_read_ledger(const struct store *store, const struct sessions_one *session,
                       struct page_ledger ret[PAGE_DEVICES], struct error *err);

/* Returns the sum of the bytes that all processes of `use` hold of the GPU `uuid`. */
uint64_t folder_used_bytes(const struct folder_use *use, const uint8_t uuid[16]);

/* Whether the session has a folder. 1: yes. 0: there is no folder of that name. FOLDER_USERS or
 * FOLDER_NOBODYS: the folder of that name is not this session's. */
int folder_find(const struct store *store, const char *name, const uint8_t id[16],
                struct error *err);

#endif
