/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening what lies in a runtime folder, the same careful way everywhere in src/store.
 *
 * No link is followed below the runtime folder, and whatever is opened belongs to this user, or to
 * root as a daemon's folders do, and cannot be written by another. Descriptors are moved above 511
 * and live inside one call only.
 */
#ifndef ALIQUOT_STORE_FOLDER_H
#define ALIQUOT_STORE_FOLDER_H

#include <sys/stat.h>

#include "store/store.h"

#define FOLDER_SESSIONS "sessions"
#define FOLDER_LIMITS "limits"
#define FOLDER_SLOTS "slots"
#define FOLDER_OPEN ".open-"      /* and uid, "-", random digits: see folder_is_anothers() */
#define FOLDER_OVER ".open-over-" /* likewise, of a session that is over for everybody */

/* Raised descriptor or negative errno; `at` as in openat(). O_NOFOLLOW and O_CLOEXEC are added. */
int folder_open_file(int at, const char *name, int flags);

/* The lock of who changes what `fd` is, until that is closed. -EBUSY: somebody has had it for 5 s,
 * so he was stopped, or means to keep it. */
int folder_lock(int fd);

/* Whose word a folder or `limits` may be: this user's, or root's. */
bool folder_is_trusted(uint32_t uid);

/* A directory that only we, or root, can change; makes it (0700) if `make` and it is missing. */
int folder_open_directory(int at, const char *name, bool make, struct error *err);

/* <runtime>/sessions. -ENOENT when it is missing and not to be made. */
int folder_open_sessions(const struct store *store, bool make, struct error *err);

/* As store_join(), but also maps a session that is being removed. */
int folder_map_session(const struct store *store, const char *name, bool writable,
                       struct store_session *ret, struct error *err);

/* Maps `limits` of any session, writable, and nothing else of it. */
int folder_map_limits(const struct store *store, const char *name, struct store_session *ret,
                      struct error *err);

/* Lets a tenant of another uid read `limits` and own `slots`, and nobody else anything. Needs to be
 * root; nothing to do for our own uid. */
int folder_grant(int folder, uint32_t uid, struct error *err);

/* ".new-" or ".old-", and 16 random digits, for what is not, or no longer, a session. */
int folder_temporary_name(const char *stem, char ret[PAGE_NAME_BYTES], struct error *err);

/* Root's to remove, and `slots` in it is, or may be, another user's, who may have it open: it is
 * not deleted but gets a name that begins with FOLDER_OPEN, and is looked at. */
bool folder_is_anothers(int sessions, const char *name, uint32_t *ret_uid);

/* Deletes it when nobody has `slots` open for writing; until then takes back what is in there. Its
 * tenant can make that wait for as long as it likes. Else negative: what is in there could not be
 * taken back; -ETXTBSY: it is a program that runs. */
int folder_look_open(int sessions, const char *name);

/* Deletes what has this name, and all that is in it. No link is followed, no mount is entered. */
int folder_delete(int sessions_fd, const char *name, struct error *err);

#endif
