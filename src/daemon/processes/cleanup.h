/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of `slots` are cut off, taken over and deleted by processes of their own, one for each
 * user.
 *
 * Each of these waits for the lock of the file's inode, and a tenant has that for as long as it
 * likes, in a write() into the file from memory that a file system of its own fills. Not even a
 * fatal signal ends that wait (on Linux 6.18 it does, but for a deletion). So the daemon only looks
 * which users' files want something, which waits for nobody, and forks a child for each such user
 * (aside.h). Where a child makes no step it is killed, or left standing; its user's files are
 * passed over until then and CLEANUP_REST_NS more. Users who hold up the work hold it up for their
 * own files alone.
 *
 *      cleanups_look(cleanups)                 // once a second
 *      cleanups_tend(cleanups, now_ns)         // every CLEANUP_TEND_NS while cleanups_are_on()
 *      cleanups_take(cleanups, &place, &cut)   // what was found too large since, one after another
 *
 * At most CLEANUPS_AT_ONCE children get on at a time; users are served in turns. One thread.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_CLEANUP_H
#define ALIQUOT_DAEMON_PROCESSES_CLEANUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sessions.h"
#include "store/store.h"

#define CLEANUP_TEND_NS UINT64_C(20000000)
/* Where no further file was done for so long, the child stands still, and that is told. */
#define CLEANUP_STILL_NS UINT64_C(3000000000)
#define CLEANUP_REST_NS UINT64_C(10000000000)
#define CLEANUPS_AT_ONCE 4u
/* Users who have work, also those who hold it up. */
#define CLEANUPS_MOST 256u

struct cleanups;

/* A session's `slots` that was too large. */
struct cleanup_cut {
        uint8_t id[16]; /* of the session: its place may be another's by now */
        uint64_t bytes;
        int rc; /* 0: it was cut; else why it could not be */
};

/* NULL: no memory. `sessions` and `store` outlive it. */
struct cleanups *cleanups_new(const struct sessions *sessions, const struct store *store);
void cleanups_free(struct cleanups *cleanups);

/* Looks which users' files want something done. */
void cleanups_look(struct cleanups *cleanups);

/* Begins and ends children. Returns whether any has ended. */
bool cleanups_tend(struct cleanups *cleanups, uint64_t now_ns);

/* Whether there is work that nobody holds up. */
bool cleanups_are_on(const struct cleanups *cleanups);

/* Users who hold it up: their last child stood still. */
unsigned cleanups_held(const struct cleanups *cleanups);

/* One that was not taken before. A place's is overwritten by its next. */
bool cleanups_take(struct cleanups *cleanups, unsigned *ret_place, struct cleanup_cut *ret);

#endif
