/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Truncates, takes over and deletes `slots` files in separate processes, one for each user.
 *
 * Each of these operations waits for the lock of the file's inode. A tenant can hold that lock as
 * long as it likes: it calls write() on the file with memory that a FUSE file system of its own
 * fills. Not even a fatal signal ends the wait for the lock (on Linux 6.18 it does, except in a
 * deletion). So the daemon only finds out which users' files need work, which never blocks, and
 * forks a child for each such user (aside.h). A child that makes no progress is killed, or
 * abandoned; its user's files are skipped until the child is gone and CLEANUP_REST_NS more have
 * passed. So a user who blocks the work blocks it only for that user's own files.
 *
 *      cleanups_look(cleanups)                 // once a second
 *      cleanups_tend(cleanups, now_ns)         // every CLEANUP_TEND_NS while cleanups_are_on()
 *      cleanups_take(cleanups, &place, &cut)   // one file that was found too large; repeatedly
 *
 * At most CLEANUPS_AT_ONCE children make progress at a time; users are served in rotation. All
 * functions are called by one thread.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_CLEANUP_H
#define ALIQUOT_DAEMON_PROCESSES_CLEANUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sessions.h"
#include "store/store.h"

#define CLEANUP_TEND_NS UINT64_C(20000000)
/* A child that has finished no further file for this long is stuck, which is reported. */
#define CLEANUP_STILL_NS UINT64_C(3000000000)
#define CLEANUP_REST_NS UINT64_C(10000000000)
#define CLEANUPS_AT_ONCE 4u
/* Maximum number of users with work, including those that block it. */
#define CLEANUPS_MAX 256u

struct cleanups;

/* The report that a session's `slots` was too large. */
struct cleanup_cut {
        /* the session's id, because the entry `place` may belong to another session by now */
        uint8_t id[16];
        uint64_t bytes;
        int rc; /* 0: truncated; negative: the error */
};

/* Returns NULL if there is no memory. `sessions` and `store` must outlive the result. */
struct cleanups *cleanups_new(const struct sessions *sessions, const struct store *store);
void cleanups_free(struct cleanups *cleanups);

/* Finds the users whose files need work. */
void cleanups_look(struct cleanups *cleanups);

/* Starts and ends children. Returns whether any child has ended. */
bool cleanups_tend(struct cleanups *cleanups, uint64_t now_ns);

/* Whether some user has work that is not blocked. */
bool cleanups_are_on(const struct cleanups *cleanups);

/* Returns the number of users who block their work: their last child got stuck. */
unsigned cleanups_held(const struct cleanups *cleanups);

/* Takes the next report. False: there is none for now. `ret_place`: the session's index. A later
 * report about a session replaces one that was not taken. */
bool cleanups_take(struct cleanups *cleanups, unsigned *ret_place, struct cleanup_cut *ret);

#endif
