/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session folders: creates, joins, changes and removes <runtime>/sessions/<name>/{limits,slots}.
 *
 *      store_find()             which runtime folder (made 0700, owner checked)
 *      store_join()             -ENOENT: there is no session of that name
 *      store_create()           -EEXIST: another process was faster; join its session
 *
 * -EBUSY from either: another process removes the session right now, try again.
 *
 * A folder is made completely under another name and then renamed, so a visible session is
 * complete; of two creators one wins and the other joins. Every file is opened without following
 * links. It must be a regular file of ours that other users cannot write, have the right size, and
 * pass its page check; both files must have the same session id. Anything else is refused with one
 * line, and nothing is repaired automatically. No descriptor stays open.
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
#define STORE_SYSTEM_FOLDER "/run/aliquot"  /* of the whole machine */
#define STORE_DAEMON_SOCKET "aliquotd.sock" /* in a runtime folder that a daemon serves */

/* A runtime folder, in which sessions lie. */
struct store {
        char path[STORE_PATH_BYTES];
};

/* Identifies the mapped file: compare before trusting its path. */
struct store_file {
        uint64_t device;
        uint64_t inode;
};

/* A session whose pages are mapped. Ends with store_close(), or with the process. */
struct store_session {
        char path[STORE_PATH_BYTES]; /* the session's folder */
        struct limits_page *limits;  /* read-only unless `is_writable` */
        struct slots_page *slots;    /* always writable */
        struct store_file limits_file;
        struct store_file slots_file;
        bool is_writable;
};

/* A session that a daemon makes for a tenant: PAGE_OWNER_DAEMON. */
struct store_tenancy {
        uint8_t id[16]; /* session_id, the daemon's choice */
        uint32_t uid;   /* the tenant: reads `limits`, owns `slots` */
        /* Of a container, whose users are not known: whoever is handed `slots` may open it again.
         * Its folder is closed to all of them. */
        bool is_containers;
};

/* What a new session is made from. All borrowed until return. */
struct store_request {
        const char *name;
        const char *created_as; /* settings_canonical() */
        const char *device_name;
        uint32_t flags; /* enum page_flags */
        bool says_swap; /* else a daemon may have chosen whether it swaps */
        const struct settings_limits *limits;
        const struct store_tenancy *tenancy; /* NULL: the session is this user's own */
};

/*
 * Finds the runtime folder: `asked` (if not "" or NULL), else /run/aliquot if we may write there,
 * else $XDG_RUNTIME_DIR/aliquot, else /dev/shm/aliquot-UID. Creates a missing one if `make`;
 * otherwise a missing one is -ENOENT. -ENOTEMPTY: the folder asked for has no sessions but other
 * files. -EOPNOTSUPP: it is on overlayfs, where the live processes of a session cannot be found. A
 * default folder on overlayfs is skipped.
 */
int store_find(struct store *ret, const char *asked, bool make, struct error *err);

/* Whether this is one of the default folders of any user, by its path. */
bool store_is_usual(const struct store *store);

/* 0: a daemon listens on the socket there. -EACCES: this user may not connect, so it is unknown
 * whether one does. */
int store_try_daemon(const struct store *store);

int store_create(const struct store *store, const struct store_request *request,
                 struct store_session *ret, struct error *err);
int store_join(const struct store *store, const char *name, bool writable,
               struct store_session *ret, struct error *err);

/* Joins by descriptors from a daemon, which stay the caller's: `limits` for reading, `slots` for
 * both. The owner of the files is not checked. `ret`->path, which the caller has set, stays. */
int store_join_pages(int limits, int slots, const char *name, struct store_session *ret,
                     struct error *err);

/*
 * For the daemon that owns a session: maps `limits` writable; `slots` is not mapped (NULL) but
 * identified by its inode. A tenant can truncate its `slots`, and a process that maps it then dies
 * of SIGBUS, so the daemon uses pread(). The tenant owns that file, so its mode, access list, size
 * or lease never causes a failure. Works for a session that is being removed too. -EEXIST: its user
 * made it, not a daemon; other failures say nothing about that.
 */
int store_join_owned(const struct store *store, const char *name, struct store_session *ret,
                     struct error *err);

/* Maps only `limits`, for reading, to show what a session may use: whoever made it, and whatever
 * its tenant did to `slots`, which is not opened. */
int store_join_limits(const struct store *store, const char *name, struct store_session *ret,
                      struct error *err);

void store_close(struct store_session *session);

/* "run-" and 16 random digits: a name that no other session has. */
int store_fresh_name(char ret[PAGE_NAME_BYTES], struct error *err);
bool store_is_fresh_name(const char *name); /* judges by the form of the name */

/* Whether joining with these limits means this session: they are the text it was made with, or
 * equal its present limits. `limits` NULL: they could not be resolved. */
int store_check_same(const struct store_session *session, const struct store_request *request,
                     struct error *err);

/* The row of a GPU; -1: it has none yet. */
int store_find_row(const struct store_session *session, const uint8_t uuid[16]);

/* The row of a GPU: found, or claimed with the session's default. -ENOSPC: all rows are taken. */
int store_claim_row(const struct store_session *session, const uint8_t uuid[16],
                    uint64_t card_bytes, struct error *err);

/* False once the session is being removed. No system call. */
bool store_is_current(const struct store_session *session);

/* Backs the part of `slots` that a slot's owner uses with memory, so that a later access cannot
 * fail. */
int store_reserve_slot(int slots_fd, unsigned slot, struct error *err);

/*
 * Changes the limits of a writable session at run time: devices with a rule of their own, and with
 * a default all other devices, present and future. Everything is checked before anything is
 * written; then `epoch` publishes it. Concurrent changes take turns. -EBUSY: another change has not
 * ended within 5 s, or new GPUs leave it no room.
 */
int store_set(const struct store_session *session, const struct settings_limits *limits,
              struct error *err);

/* Closes a writable session to new processes and new charges, for good; its processes keep what
 * they have. */
void store_shut(const struct store_session *session);

/* 1: some process holds a slot; 0: none does; negative: unknown. */
int store_is_live(const struct store_session *session, struct error *err);

/* Removes an unused session; `force`: also one in use, whose processes keep their memory and limits
 * but which no process can join any more. */
int store_remove(const struct store *store, const char *name, bool force, struct error *err);

/* As by force, for a session that must not be used any more: a file that another user still has
 * open is emptied, even if it is mapped or locked. No tenant can block this: a tenant's folder is
 * only renamed, and kept for store_clear_kept(). */
int store_bury(const struct store *store, const char *name, struct error *err);

/* Lists the kept folders of tenants' removed sessions, which stay until no process has `slots` open
 * (kept.c). Calls `found` with the user of each that needs store_clear_kept(); skips users for whom
 * `is_passed`. No tenant can block this. One thread; for root. */
struct store_look {
        bool (*is_passed)(uint32_t uid, void *context);
        void (*found)(uint32_t uid, void *context);
        void *context;
};
void store_list_kept(const struct store *store, const struct store_look *look);

/* Takes back what one user wrote into the kept ones, and deletes those that nobody has open any
 * more. The user can make it wait without end. */
struct store_clearing {
        uint32_t uid;
        _Atomic uint32_t *steps; /* rises with each */
        /* NULL, or told of a file that cannot be cut, as a process runs it as its program. */
        void (*is_run)(const struct stat *slots);
};
void store_clear_kept(const struct store *store, const struct store_clearing *clearing);

/* Of a file of `slots` whose content should be `bytes`: whether it has no more memory than that
 * takes in blocks of its file system. Also what was allocated behind the end counts. */
bool store_is_within(const struct stat *st, uint64_t bytes);

/* Whether its tenant has given a file of `slots` attributes of its own: by its path or, where that
 * is NULL, by its descriptor. Waits for nobody. */
bool store_has_attributes(const char *path, int fd);

/* Removes the attributes; a tenant can block this. Returns how many were removed, or an error
 * (-E2BIG: their names are too long to be listed). For one thread. */
int store_drop_attributes(int fd);

/* Moves a session's folder out of the way, even if processes live in it, and deletes nothing: it is
 * kept under the name in `ret`. */
int store_set_aside(const struct store *store, const char *name, char ret[PAGE_NAME_BYTES],
                    struct error *err);

/* Calls `each` with the name of every session; a negative answer ends the walk and is returned. */
int store_list(const struct store *store, int (*each)(const char *name, void *context),
               void *context, struct error *err);

#endif
