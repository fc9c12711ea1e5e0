/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Truncates, takes over and deletes `slots` files in separate processes, one for each user.
 *
 * Each of these operations waits for the lock of the file's inode. A tenant can hold that lock as
 * long as it likes, in a write() into the file from memory that a FUSE file system of its own
 * fills. Not even a fatal signal ends that wait (on Linux 6.18 it does, except in a deletion). So
 * the daemon only finds out which users' files need work, which never blocks, and forks a child for
 * each such user (aside.h). A child that makes no progress is killed, or abandoned; its user's
 * files are skipped until it is gone and CLEANUP_REST_NS more. So a user who blocks the work blocks
 * only the user's own files.
 *
 *      cleanups_look(cleanups)                 // once a second
 *      cleanups_tend(cleanups, now_ns)         // every CLEANUP_TEND_NS while cleanups_are_on()
 *      cleanups_take(cleanups, &place, &cut)   // files found too large since then, one by one
 *
 * At most CLEANUPS_AT_ONCE children make progress at a time; users are served in turns. One thread.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_CLEANUP_H
#define ALIQUOT_DAEMON_PROCESSES_CLEANUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sessions.h"
#include "store/store.h"

#define CLEANUP_TEND_NS UINT64_C(20000000)
/* A child that has finished no further file for this long is stuck, and that is reported. */
#define CLEANUP_STILL_NS UINT64_C(3000000000)
#define CLEANUP_REST_NS UINT64_C(10000000000)
#define CLEANUPS_AT_ONCE 4u
/* Users with work, including those that block it. */
#define CLEANUPS_MAX 256u

struct cleanups;

/* A session's `slots` that was too large. */
struct cleanup_cut {
        uint8_t id[16]; /* the session's id; its place may have another session by now */
        uint64_t bytes;
        int rc; /* 0: truncated; else the error */
};

/* NULL: no memory. `sessions` and `store` must outlive it. */
struct cleanups *cleanups_new(const struct sessions *sessions, const struct store *store);
void cleanups_free(struct cleanups *cleanups);

/* Finds the users whose files need work. */
void cleanups_look(struct cleanups *cleanups);

/* Starts and ends children. Returns whether any child has ended. */
bool cleanups_tend(struct cleanups *cleanups, uint64_t now_ns);

/* Whether there is work that is not blocked. */
bool cleanups_are_on(const struct cleanups *cleanups);

/* Number of users who block their work: their last child got stuck. */
unsigned cleanups_held(const struct cleanups *cleanups);

/* The next report not taken yet. A later report for the same place replaces an earlier one. */
bool cleanups_take(struct cleanups *cleanups, unsigned *ret_place, struct cleanup_cut *ret);

#endif
