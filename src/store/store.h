/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session folders: creates, joins, changes and removes <runtime>/sessions/<name>/{limits,slots}.
 *
 *      store_find()             finds the runtime folder (made 0700, owner checked)
 *      store_join()             -ENOENT: there is no session of that name
 *      store_create()           -EEXIST: another process was faster; join its session
 *
 * store_join() and store_create() return -EBUSY if another process removes the session right now:
 * try again.
 *
 * A folder is created completely under another name and then renamed, so a visible session is
 * complete; if two processes create it, one succeeds and the other joins. Every file is opened
 * without following links. It must be a regular file of ours that other users cannot write, have
 * the right size, and pass its page check; both files must have the same session id. Anything else
 * is refused with one line, and nothing is repaired automatically. No descriptor stays open.
 */
#ifndef ALIQUOT_STORE_STORE_H
#define ALIQUOT_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/error.h"
#include "proto/page.h"
#include "settings/resolve.h"

#define STORE_PATH_BYTES 1024u
#define STORE_SYSTEM_FOLDER "/run/aliquot"  /* the runtime folder of the whole machine */
#define STORE_DAEMON_SOCKET "aliquotd.sock" /* name of the daemon's socket in a runtime folder */

/* A runtime folder. It contains the folders of the sessions. */
struct store {
        char path[STORE_PATH_BYTES];
};

/* Identifies a mapped file. Compare it before trusting the file's path. */
struct store_file {
        uint64_t device;
        uint64_t inode;
};

/* A session whose pages are mapped. Ends with store_close(), or with the process. */
struct store_session {
        char path[STORE_PATH_BYTES]; /* the session's folder */
        struct limits_page *limits;  /* mapped read-only unless `is_writable` */
        struct slots_page *slots;    /* always mapped writable */
        struct store_file limits_file;
        struct store_file slots_file;
        bool is_writable;
};

/* A session that a daemon creates for a tenant (owner is PAGE_OWNER_DAEMON). */
struct store_tenancy {
        uint8_t id[16]; /* the session's id, chosen by the daemon */
        uint32_t uid;   /* the tenant, who may read `limits` and owns `slots` */
        /* The session belongs to a container, whose users are not known. So any process that
         * gets a descriptor of `slots` may open the file again, while the session's folder is
         * closed to all of them. */
        bool is_containers;
};

/* What a new session is created from. All pointers are borrowed until return. */
struct store_request {
        /* name of the session */
        const char *name;
        const char *created_as;  /* the text of the limits, by settings_canonical() */
        const char *device_name; /* name of the card in this session; "" or NULL: its own name */
        uint32_t flags;          /* enum page_flags */
        /* the request says whether the session swaps; otherwise a daemon may have chosen that */
        bool says_swap;
        const struct settings_limits *limits;
        const struct store_tenancy *tenancy; /* the tenant; NULL: the session is this user's own */
};

/*
 * Finds the runtime folder: `asked` (if not "" or NULL); else /run/aliquot if we may write there;
 * else $XDG_RUNTIME_DIR/aliquot; else /dev/shm/aliquot-UID. If the folder is missing, it is created
 * if `make` is set; otherwise the result is -ENOENT. -ENOTEMPTY: the folder asked for has other
 * files but no sessions. -EOPNOTSUPP: it is on overlayfs, where the live processes of a session
 * cannot be found; a default folder on overlayfs is skipped.
 */
int store_find(struct store *ret, const char *asked, bool make, struct error *err);

/* Whether the path is one of the default folders of some user. */
bool store_is_usual(const struct store *store);

/* Returns 0 if a daemon listens on the socket in the runtime folder. -EACCES: this user may not
 * connect, so it is unknown whether one listens. */
int store_try_daemon(const struct store *store);

/* Creates a session and joins it. */
int store_create(const struct store *store, const struct store_request *request,
                 struct store_session *ret, struct error *err);
/* Joins a session: maps its pages. */
int store_join(const struct store *store, const char *name, bool writable,
               struct store_session *ret, struct error *err);

/* Joins a session through descriptors from a daemon, which the caller still owns: `limits` is
 * open for reading, `slots` for reading and writing. The owner of the files is not checked. The
 * caller has set `ret`->path, which stays. */
int store_join_pages(int limits, int slots, const char *name, struct store_session *ret,
                     struct error *err);

/*
 * Joins a session for the daemon that owns it: maps `limits` writable; `slots` is not mapped (NULL)
 * but identified by its inode. A tenant can truncate its `slots`, and a process that accesses the
 * mapping then dies of SIGBUS, so the daemon uses pread(). The tenant owns that file, so its mode,
 * access list, size or lease never causes a failure. Also works for a session that is being
 * removed. -EEXIST: the session was created by its user, not by a daemon; other failures do not
 * show who created it.
 */
int store_join_owned(const struct store *store, const char *name, struct store_session *ret,
                     struct error *err);

/* Maps only `limits`, for reading, to show what a session may use. Works whoever created the
 * session, and whatever its tenant did to `slots`, which is not opened. */
int store_join_limits(const struct store *store, const char *name, struct store_session *ret,
                      struct error *err);

/* Unmaps the pages of a session. */
void store_close(struct store_session *session);

/* Makes a name that no other session has: "run-" and 16 random digits. */
int store_fresh_name(char ret[PAGE_NAME_BYTES], struct error *err);
/* whether the name has the form of store_fresh_name() */
bool store_is_fresh_name(const char *name);

/* Whether a request with these limits may join this session: their text is the one with which
 * the session was created, or they equal the session's present limits. `request`->limits NULL:
 * they could not be resolved. */
int store_check_same(const struct store_session *session, const struct store_request *request,
                     struct error *err);

/* Returns the row of a GPU; -1: the GPU has none yet. */
int store_find_row(const struct store_session *session, const uint8_t uuid[16]);

/* Returns the row of a GPU. If there is none yet, claims one with the session's default limit.
 * -ENOSPC: all rows are in use. */
int store_claim_row(const struct store_session *session, const uint8_t uuid[16],
                    uint64_t card_bytes, struct error *err);

/* Whether the session is not being removed. Makes no system call. */
bool store_is_current(const struct store_session *session);

/* Allocates memory for the part of `slots` that the owner of this slot uses, so that a later
 * access cannot fail. */
int store_reserve_slot(int slots_fd, unsigned slot, struct error *err);

/*
 * Changes the limits of a writable session at run time: those of devices with a rule of their own
 * and, if the request has a default, those of all other devices, present and future. Everything is
 * checked before anything is written; then `epoch` publishes the change. Concurrent changes wait
 * for each other. -EBUSY: another change has not ended within 5 s, or GPUs that were just added
 * have kept the old default.
 */
int store_set(const struct store_session *session, const struct settings_limits *limits,
              struct error *err);

/* Closes a writable session to new processes and new charges, for good. Its processes keep what
 * they have. */
void store_shut(const struct store_session *session);

/* Returns 1 if a process holds a slot, 0 if none does, a negative errno if that is unknown. */
int store_is_live(const struct store_session *session, struct error *err);

/* Removes a session that no process uses. With `force` also one in use: its processes keep their
 * memory and limits, but no process can join it any more. */
int store_remove(const struct store *store, const char *name, bool force, struct error *err);

/* Removes a session as with force, if it must not be used any more: a file that another user
 * still has open is emptied, even if it is mapped or locked. No tenant can block this call: a
 * tenant's folder is only renamed, and kept for store_clear_kept(). */
int store_bury(const struct store *store, const char *name, struct error *err);

/* Lists the kept folders of tenants' removed sessions, which stay until no process has `slots`
 * open (kept.c). Calls `found` with the uid of each folder that needs store_clear_kept(). Skips
 * users for whom `is_passed` returns true. No tenant can block this call. Only one thread may
 * call; needs root. */
struct store_look {
        bool (*is_passed)(uint32_t uid, void *context);
        void (*found)(uint32_t uid, void *context);
        void *context;
};
void store_list_kept(const struct store *store, const struct store_look *look);

/* Removes what one user wrote into kept folders, and deletes the folders that nobody has open
 * any more. The user can block this call for any time. */
/* the user */
struct store_clearing {
        uint32_t uid;
        _Atomic uint32_t *steps; /* raised by 1 for each folder */
        /* Called for a file that cannot be truncated because a process runs it as its program.
         * May be NULL. */
        void (*is_run)(const struct stat *slots);
};
void store_clear_kept(const struct store *store, const struct store_clearing *clearing);

/* Whether a file of `slots` whose content should be `bytes` takes no more memory than that, in
 * blocks of its file system. Memory that was allocated behind the file's end counts too. */
bool store_is_within(const struct stat *st, uint64_t bytes);

/* Whether the tenant has set extended attributes on a file of `slots`, given by its path or, if
 * that is NULL, by its descriptor. Does not block. */
bool store_has_attributes(const char *path, int fd);

/* Removes these attributes; a tenant can block this call. Returns how many were removed, or an
 * error (-E2BIG: their names are too long to be listed). Only one thread may call. */
int store_drop_attributes(int fd);

/* Renames a session's folder to a name that is no session, even if processes use it, and deletes
 * nothing. `ret` gets the new name. */
int store_set_aside(const struct store *store, const char *name, char ret[PAGE_NAME_BYTES],
                    struct error *err);

/* Calls `each` with the name of every session. If a call returns a negative number, stops and
 * returns that number. */
int store_list(const struct store *store, int (*each)(const char *name, void *context),
               void *context, struct error *err);

#endif
