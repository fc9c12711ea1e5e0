/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files and folders of a runtime folder safely, for all of src/store.
 *
 * No link is followed below the runtime folder. Whatever is opened belongs to this user, or to root
 * (a daemon's folders), and other users cannot write it. Descriptors are moved above 511 and live
 * inside one call only.
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

/* Takes the lock for changes of the folder `fd`, held until that is closed. -EBUSY: another process
 * has held it for 5 s, because it was stopped, or on purpose. */
int folder_lock(int fd);

/* Whether a folder or `limits` of this user is trusted: only this process's user and root are. */
bool folder_is_trusted(uint32_t uid);

/* Opens a directory that only this user, or root, can change; creates it (0700) if `make` and it is
 * missing. */
int folder_open_directory(int at, const char *name, bool make, struct error *err);

/* <runtime>/sessions. -ENOENT if it is missing and `make` is false. */
int folder_open_sessions(const struct store *store, bool make, struct error *err);

/* As store_join(), but also maps a session that is being removed. */
int folder_map_session(const struct store *store, const char *name, bool writable,
                       struct store_session *ret, struct error *err);

/* Maps only `limits` of any session, writable. */
int folder_map_limits(const struct store *store, const char *name, struct store_session *ret,
                      struct error *err);

/* Lets a tenant of another uid read `limits` and own `slots`; other users get no access. Needs
 * root; does nothing for our own uid. */
int folder_grant(int folder, uint32_t uid, struct error *err);

/* ".new-" or ".old-", and 16 random digits: a name for a folder that is not, or no longer, a
 * session. */
int folder_temporary_name(const char *stem, char ret[PAGE_NAME_BYTES], struct error *err);

/* Whether the folder is root's to remove while `slots` in it is, or may be, another user's, who may
 * have it open. Then it is not deleted but renamed to a name that begins with FOLDER_OPEN, and
 * checked later. */
bool folder_is_anothers(int sessions, const char *name, uint32_t *ret_uid);

/* Deletes a kept folder when no process has `slots` open for writing; until then removes the file's
 * content. Its tenant can block this. Negative: the content could not be removed; -ETXTBSY: the
 * file is running as a program. */
int folder_look_open(int sessions, const char *name);

/* Deletes the entry of this name with all its content. Follows no link, enters no mount. */
int folder_delete(int sessions_fd, const char *name, struct error *err);

#endif
