/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session folders: <runtime>/sessions/<name>/{limits,slots}, and who may do what with them.
 *
 *      store_find()             which runtime folder (made 0700, owner checked)
 *      store_join()             -ENOENT: there is none of that name
 *      store_create()           -EEXIST: somebody was faster, join theirs
 *
 * -EBUSY of either: somebody removes it at this moment, come again.
 *
 * A folder is made whole under another name and renamed in, so a session that can be seen is
 * complete; of two creators one wins and the other joins. Every file is opened without following
 * links, must be a plain file of ours that nobody else can write, of the right size, and pass its
 * page check; the two must carry one session id. Anything else is refused with one line, and
 * nothing is repaired behind the user's back. No descriptor stays open.
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

/* The file that is mapped: compare before trusting its path. */
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

/* What a new session is made with. All borrowed until return. */
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
 * `asked` ("" or NULL: nobody did), else /run/aliquot if we may write there, else
 * $XDG_RUNTIME_DIR/aliquot, else /dev/shm/aliquot-UID. Made if it is missing and `make`; a store
 * that is merely looked at need not exist: -ENOENT.
 * -ENOTEMPTY: the one asked for has no sessions in it, and things that are not ours.
 * -EOPNOTSUPP: it is on overlayfs, where the live processes of a session cannot be found. A usual
 * folder on overlayfs is skipped.
 */
int store_find(struct store *ret, const char *asked, bool make, struct error *err);

/* Whether a program that names no folder may have this one: by its path, whichever user's it is. */
bool store_is_usual(const struct store *store);

/* 0: somebody listens on the daemon's socket there. -EACCES: the socket is closed to this user, and
 * nothing tells whether anybody listens. */
int store_try_daemon(const struct store *store);

int store_create(const struct store *store, const struct store_request *request,
                 struct store_session *ret, struct error *err);
int store_join(const struct store *store, const char *name, bool writable,
               struct store_session *ret, struct error *err);

/* The same by descriptors that a daemon handed out, which stay the caller's: `limits` for reading,
 * `slots` for both. Whose the files are is not asked. `ret`->path, which the caller has set, stays.
 */
int store_join_pages(int limits, int slots, const char *name, struct store_session *ret,
                     struct error *err);

/*
 * For the daemon that owns a session: `limits` writable, `slots` not mapped (NULL) but known by its
 * inode. A tenant can cut its `slots` short, and whoever has it mapped then dies of SIGBUS: the
 * daemon reads it with pread(). The tenant owns that file, so no mode, access list, size or lease
 * of it is a reason to fail. Also a session that is being removed. -EEXIST: it is its user's own,
 * not a daemon's; every other failure says nothing about whose it is.
 */
int store_join_owned(const struct store *store, const char *name, struct store_session *ret,
                     struct error *err);

/* For who asks what a session may use and nothing else: `limits` for reading, whoever made it and
 * whatever its tenant did to `slots`, which is not opened. */
int store_join_limits(const struct store *store, const char *name, struct store_session *ret,
                      struct error *err);

void store_close(struct store_session *session);

/* "run-" and 16 random digits: a session that nobody else can have. */
int store_fresh_name(char ret[PAGE_NAME_BYTES], struct error *err);
bool store_is_fresh_name(const char *name); /* by its form */

/* Whether joining with these limits is joining this session: the text it was made with, or limits
 * that come to what it has now. `limits` NULL: could not be resolved. */
int store_check_same(const struct store_session *session, const struct store_request *request,
                     struct error *err);

/* The row of a GPU; -1: it has none yet. */
int store_find_row(const struct store_session *session, const uint8_t uuid[16]);

/* The row of a GPU: found, or claimed with the session's default. -ENOSPC: all rows are taken. */
int store_claim_row(const struct store_session *session, const uint8_t uuid[16],
                    uint64_t card_bytes, struct error *err);

/* False once the session is being removed. No system call. */
bool store_is_current(const struct store_session *session);

/* Backs with memory what the owner of a slot touches of `slots`, so that touching it later cannot
 * fail. */
int store_reserve_slot(int slots_fd, unsigned slot, struct error *err);

/*
 * Changes the limits of a writable session, live: devices with a rule of their own, and with a
 * default also every other device and those yet to come. Checked whole before anything is
 * written, then published by `epoch`. Users who change it at once take turns. -EBUSY: another
 * change has not ended within 5 s, or GPUs that show up meanwhile leave it no room.
 */
int store_set(const struct store_session *session, const struct settings_limits *limits,
              struct error *err);

/* Ends a writable session for newcomers and for new charges, for good; who lives in it keeps what
 * it has. */
void store_shut(const struct store_session *session);

/* 1: some process holds a slot; 0: none does; negative: it could not be told. */
int store_is_live(const struct store_session *session, struct error *err);

/* Removes a session that nobody uses; `force`: also one in use, whose processes keep their memory
 * and their limits but can no longer be joined. */
int store_remove(const struct store *store, const char *name, bool force, struct error *err);

/* The same by force where nobody may use it any more: what another user still has open of it is
 * emptied, whoever has it mapped or holds a lock on it. Waits for no tenant: one's folder is only
 * renamed, and kept for store_clear_kept(). */
int store_bury(const struct store *store, const char *name, struct error *err);

/* Removed sessions of tenants are kept until nobody has `slots` open (kept.c). Calls `found` with
 * the user of each that waits for store_clear_kept(); those of whom `is_passed` are not looked at.
 * Waits for no tenant. One thread; for root. */
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

/* Removes them; a tenant can make that wait. Returns how many went, or why none can be (-E2BIG:
 * their names are too many to be listed). For one thread. */
int store_drop_attributes(int fd);

/* Takes a session's folder out of sight, whoever lives in it, and deletes nothing: it is kept under
 * the name in `ret`. */
int store_set_aside(const struct store *store, const char *name, char ret[PAGE_NAME_BYTES],
                    struct error *err);

/* Calls `each` with the name of every session; a negative answer ends the walk and is returned. */
int store_list(const struct store *store, int (*each)(const char *name, void *context),
               void *context, struct error *err);

#endif
