/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files and folders of a runtime folder safely, for all of src/store.
 *
 * No link is followed below the runtime folder. Whatever is opened belongs to this user, or to root
 * (folders of a daemon), and other users cannot write it. Descriptors are moved above 511 and exist
 * only during one call.
 */
#ifndef ALIQUOT_STORE_FOLDER_H
#define ALIQUOT_STORE_FOLDER_H

#include <sys/stat.h>

#include "store/store.h"

#define FOLDER_SESSIONS "sessions"
#define FOLDER_LIMITS "limits"
#define FOLDER_SLOTS "slots"
/* This and FOLDER_OVER are followed by a uid, "-" and random digits: see folder_is_anothers(). */
#define FOLDER_OPEN ".open-"
#define FOLDER_OVER ".open-over-" /* for a session that nobody may use any more */

/* Opens a file. Returns a descriptor above 511 or a negative errno. `at` is used as by openat().
 * O_NOFOLLOW and O_CLOEXEC are added. */
int folder_open_file(int at, const char *name, int flags);

/* Takes the lock for changes of the folder `fd`; closing `fd` releases it. -EBUSY: another
 * process has held it for 5 s, because it was stopped, or on purpose. */
int folder_lock(int fd);

/* Whether files that belong to this uid are trusted: those of this process's user and of root
 * are. */
bool folder_is_trusted(uint32_t uid);

/* Opens a directory that only this user, or root, can change. Creates it (mode 0700) if it is
 * missing and `make` is set. */
int folder_open_directory(int at, const char *name, bool make, struct error *err);

/* Opens <runtime>/sessions. -ENOENT: it is missing and `make` is false. */
int folder_open_sessions(const struct store *store, bool make, struct error *err);

/* As store_join(), but also maps a session that is being removed. */
int folder_map_session(const struct store *store, const char *name, bool writable,
                       struct store_session *ret, struct error *err);

/* Maps only `limits`, writable, of a session, whoever created it and whatever its state. */
int folder_map_limits(const struct store *store, const char *name, struct store_session *ret,
                      struct error *err);

/* Lets a tenant with another uid read `limits`, and makes `slots` the tenant's own; other users
 * get no access. Needs root. Does nothing for our own uid. */
int folder_grant(int folder, uint32_t uid, struct error *err);

/* Makes a name for a folder that is not yet, or no longer, a session: `stem` (".new-" or
 * ".old-") and 16 random digits. */
int folder_temporary_name(const char *stem, char ret[PAGE_NAME_BYTES], struct error *err);

/* Whether the folder is root's to remove while its `slots` belongs, or may belong, to another
 * user, who may have it open. Then the folder is not deleted but renamed to a name that begins
 * with FOLDER_OPEN, and checked later. *ret_uid gets that user. */
bool folder_is_anothers(int sessions, const char *name, uint32_t *ret_uid);

/* Deletes a kept folder if no process has its `slots` open for writing. Otherwise removes the
 * file's content. The folder's tenant can block this call. Negative: the content could not be
 * removed; -ETXTBSY: the file is running as a program. */
int folder_look_open(int sessions, const char *name);

/* Deletes the entry of this name with all its content. Follows no link, and enters no mounted
 * file system. */
int folder_delete(int sessions_fd, const char *name, struct error *err);

#endif
