/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the pages of an existing session. Each page is checked before it is used.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/reserve.h"
#include "common/scoped.h"
#include "common/text.h"
#include "settings/settings.h"
#include "store/folder.h"

/* One of a session's two files, and how to open and check it. */
struct wanted {
        const char *name;
        uint64_t bytes;
        bool is_writable;
        bool may_be_roots; /* root may own the file, because a daemon made it */
        /* a tenant's file in a folder of ours: it is not opened, and only its identity matters */
        bool is_named_only;
        /* a daemon sent the descriptor; the file's owner may be of another user namespace */
        bool is_received;
        /* others may write the file, because a daemon may have opened it to a container's users */
        bool may_be_shared;
};

static int check_file(int fd, const struct wanted *wanted, struct store_file *ret,
                      struct error *err)
{
        struct stat st;

        if (fstat(fd, &st) < 0)
                return fail(err, -errno, "%s: %m", wanted->name);
        if (!S_ISREG(st.st_mode))
                return fail(err, -EPROTO, "%s is no plain file", wanted->name);
        *ret = (struct store_file){ .device = st.st_dev, .inode = st.st_ino };
        /* The tenant may change the file's mode, access list, size and lease, so none of them is
         * checked. */
        if (wanted->is_named_only)
                return 0;
        if (st.st_uid != geteuid() && !wanted->is_received &&
            !(wanted->may_be_roots && folder_is_trusted(st.st_uid)))
                return fail(err, -EPERM, "%s belongs to user %u, expected %u", wanted->name,
                            st.st_uid, geteuid());
        if ((st.st_mode & 022) && !wanted->may_be_shared)
                return fail(err, -EPERM, "%s can be written by others (mode %04o), expected 0600",
                            wanted->name, st.st_mode & 07777);
        if ((uint64_t)st.st_size != wanted->bytes)
                return fail(err, -EPROTO, "%s is %llu bytes, expected %llu", wanted->name,
                            (unsigned long long)st.st_size, (unsigned long long)wanted->bytes);
        return 0;
}

/* Returns the flags for opening the file. O_PATH needs no permission on the file, and waits for
 * no lease on it. */
static int open_flags(const struct wanted *wanted)
{
        if (wanted->is_named_only)
                return O_PATH;
        return wanted->is_writable ? O_RDWR : O_RDONLY;
}

static int open_file(int folder, const struct wanted *wanted, struct store_file *ret_file,
                     struct error *err)
{
        scoped_fd int fd = folder_open_file(folder, wanted->name, open_flags(wanted));
        int rc;

        if (fd < 0) {
                errno = -fd;
                return fail(err, fd, "open %s: %m", wanted->name);
        }
        rc = check_file(fd, wanted, ret_file, err);
        return rc < 0 ? rc : steal_fd(&fd);
}

static int map_descriptor(int fd, const struct wanted *wanted, void **ret, struct error *err)
{
        int protection = wanted->is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
        void *mapped = mmap(NULL, wanted->bytes, protection, MAP_SHARED, fd, 0);

        if (mapped == MAP_FAILED)
                return fail(err, -errno, "map %s: %m", wanted->name);
        *ret = mapped;
        return 0;
}

/* Maps the file. *ret_file gets its identity. */
static int map_file(int folder, const struct wanted *wanted, void **ret,
                    struct store_file *ret_file, struct error *err)
{
        struct store_file file;
        scoped_fd int fd = open_file(folder, wanted, &file, err);
        int rc = fd < 0 ? fd : map_descriptor(fd, wanted, ret, err);

        if (rc == 0)
                *ret_file = file;
        return rc;
}

static int check_limits(const struct store_session *session, const char *name, struct error *err)
{
        int rc = page_check_limits(session->limits, sizeof(*session->limits), err);

        if (rc == 0 && strncmp(session->limits->name, name, PAGE_NAME_BYTES) != 0)
                rc = fail(err, -EPROTO, "the limits of another session");
        return rc;
}

static int check_pages(const struct store_session *session, const char *name, struct error *err)
{
        int rc = check_limits(session, name, err);

        if (rc == 0)
                rc = page_check_slots(session->slots, sizeof(*session->slots), err);
        if (rc < 0)
                return rc;
        if (memcmp(session->limits->session_id, session->slots->session_id,
                   sizeof(session->limits->session_id)) != 0)
                return fail(err, -EPROTO, "limits and slots belong to different sessions");
        return 0;
}

/* Checks that the pages have a version that this process can use. Only for a process that joins,
 * which is metered in the pages; a process that removes them need not know their content. */
static int check_version(const struct store_session *session, struct error *err)
{
        uint32_t version = session->limits->version;

        if (page_has_turns(version) && session->slots->version == version)
                return 0;
        return fail(err, -EPROTO,
                    "its pages are of version %u, this side's of %u and %u: programs of another "
                    "version of Aliquot use it; end them, or use that version",
                    version, PAGE_VERSION, PAGE_VERSION_SWAP);
}

static int map_limits(int folder, struct store_session *session, struct error *err)
{
        const struct wanted limits = { .name = FOLDER_LIMITS,
                                       .bytes = sizeof(*session->limits),
                                       .is_writable = session->is_writable,
                                       .may_be_roots = true };
        void *mapped = NULL;
        int rc = map_file(folder, &limits, &mapped, &session->limits_file, err);

        session->limits = mapped;
        /* Always rc, because map_file() maps the file or fails. Written so for analysers, which
         * do not know that fail() returns a negative number. */
        return mapped || rc < 0 ? rc : -EPROTO;
}

static int map_session(int folder, const char *name, struct store_session *session,
                       struct error *err)
{
        struct wanted slots = { .name = FOLDER_SLOTS,
                                .bytes = sizeof(*session->slots),
                                .is_writable = true };
        void *mapped = NULL;
        int rc = map_limits(folder, session, err);

        if (rc < 0)
                return rc;
        slots.may_be_shared = session->limits->owner == PAGE_OWNER_DAEMON;
        rc = map_file(folder, &slots, &mapped, &session->slots_file, err);
        session->slots = mapped;
        return rc < 0 || !mapped ? rc : check_pages(session, name, err);
}

static int map_checked_limits(int folder, const char *name, struct store_session *session,
                              struct error *err)
{
        int rc = map_limits(folder, session, err);

        return rc < 0 ? rc : check_limits(session, name, err);
}

static int map_owned(int folder, const char *name, struct store_session *session, struct error *err)
{
        const struct wanted slots = { .name = FOLDER_SLOTS, .is_named_only = true };
        scoped_fd int fd = -1;
        int rc = map_checked_limits(folder, name, session, err);

        if (rc < 0)
                return rc;
        if (session->limits->owner != PAGE_OWNER_DAEMON)
                return fail(err, -EEXIST, "it was made by its user, not by a daemon");
        fd = open_file(folder, &slots, &session->slots_file, err);
        return fd < 0 ? fd : 0;
}

typedef int session_mapper(int folder, const char *name, struct store_session *session,
                           struct error *err);

/* Whether the name still leads to the opened folder. If the folder was renamed or deleted since,
 * another process removes the session. */
static bool is_in_place(int sessions, const char *name, int folder)
{
        struct stat named, opened;

        return fstatat(sessions, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
               fstat(folder, &opened) == 0 && named.st_ino == opened.st_ino &&
               named.st_dev == opened.st_dev;
}

static int open_session(const struct store *store, const char *name, session_mapper *map,
                        struct store_session *session, struct error *err)
{
        scoped_fd int sessions = -1;
        scoped_fd int folder = -1;
        int rc = settings_check_name("session", name, err);

        if (rc == 0)
                rc = text_put(session->path, sizeof(session->path) - 16, err, "%s/%s/%s",
                              store->path, FOLDER_SESSIONS, name);
        if (rc < 0)
                return rc;
        sessions = folder_open_sessions(store, false, err);
        if (sessions < 0)
                return sessions;
        folder = folder_open_directory(sessions, name, false, err);
        rc = folder < 0 ? folder : map(folder, name, session, err);
        if (rc < 0) {
                store_close(session);
                wrap(err, "session %s in %s", name, store->path);
                /* A file that is missing from an existing folder does not mean that the session
                 * is missing. */
                return rc == -ENOENT && folder >= 0 && is_in_place(sessions, name, folder) ? -EPROTO
                                                                                           : rc;
        }
        return 0;
}

int folder_map_session(const struct store *store, const char *name, bool writable,
                       struct store_session *ret, struct error *err)
{
        struct store_session session = { .is_writable = writable };
        int rc = open_session(store, name, map_session, &session, err);

        if (rc == 0)
                *ret = session;
        return rc;
}

/* Which parts of a session to map, and whether they are writable. */
struct session_opening {
        session_mapper *map;
        bool is_writable;
};

static int open_as(const struct session_opening *opening, const struct store *store,
                   const char *name, struct store_session *ret, struct error *err)
{
        struct store_session session = { .is_writable = opening->is_writable };
        int rc = open_session(store, name, opening->map, &session, err);

        if (rc == 0)
                *ret = session;
        return rc;
}

int store_join_limits(const struct store *store, const char *name, struct store_session *ret,
                      struct error *err)
{
        return open_as(&(struct session_opening){ map_checked_limits, false }, store, name, ret,
                       err);
}

int folder_map_limits(const struct store *store, const char *name, struct store_session *ret,
                      struct error *err)
{
        return open_as(&(struct session_opening){ map_checked_limits, true }, store, name, ret,
                       err);
}

int store_join_owned(const struct store *store, const char *name, struct store_session *ret,
                     struct error *err)
{
        return open_as(&(struct session_opening){ map_owned, true }, store, name, ret, err);
}

/* Refuses sessions that no process may join although their pages are valid. */
static int check_joinable(const struct store_session *session, const char *name, struct error *err)
{
        int rc = check_version(session, err);

        if (rc == 0 && !store_is_current(session))
                rc = fail(err, -EBUSY,
                          "it is being removed; wait until its programs have ended, or use aliquot "
                          "rm --force %s",
                          name);
        return rc;
}

int store_join(const struct store *store, const char *name, bool writable,
               struct store_session *ret, struct error *err)
{
        struct store_session session;
        int rc = folder_map_session(store, name, writable, &session, err);

        if (rc < 0)
                return rc;
        rc = check_joinable(&session, name, err);
        if (rc < 0) {
                store_close(&session);
                wrap(err, "session %s in %s", name, store->path);
                return rc;
        }
        *ret = session;
        return 0;
}

static int map_received(int fd, const struct wanted *wanted, void **ret,
                        struct store_file *ret_file, struct error *err)
{
        int rc = check_file(fd, wanted, ret_file, err);

        return rc < 0 ? rc : map_descriptor(fd, wanted, ret, err);
}

static int map_pages(int limits, int slots, struct store_session *session, struct error *err)
{
        const struct wanted wanted[] = {
                { .name = FOLDER_LIMITS, .bytes = sizeof(*session->limits), .is_received = true },
                { .name = FOLDER_SLOTS,
                  .bytes = sizeof(*session->slots),
                  .is_received = true,
                  .may_be_shared = true,
                  .is_writable = true },
        };
        void *mapped = NULL;
        int rc = map_received(limits, &wanted[0], &mapped, &session->limits_file, err);

        if (rc < 0)
                return rc;
        session->limits = mapped;
        mapped = NULL;
        rc = map_received(slots, &wanted[1], &mapped, &session->slots_file, err);
        session->slots = mapped;
        /* As in map_limits(). */
        return (session->limits && mapped) || rc < 0 ? rc : -EPROTO;
}

int store_join_pages(int limits, int slots, const char *name, struct store_session *ret,
                     struct error *err)
{
        struct store_session session = { .is_writable = false };
        int rc = map_pages(limits, slots, &session, err);

        if (rc == 0)
                rc = check_pages(&session, name, err);
        if (rc == 0)
                rc = check_joinable(&session, name, err);
        if (rc < 0) {
                store_close(&session);
                return rc;
        }
        memcpy(session.path, ret->path, sizeof(session.path));
        *ret = session;
        return 0;
}

void store_close(struct store_session *session)
{
        if (session->limits)
                munmap(session->limits, sizeof(*session->limits));
        if (session->slots)
                munmap(session->slots, sizeof(*session->slots));
        session->limits = NULL;
        session->slots = NULL;
}

bool store_is_current(const struct store_session *session)
{
        return load_acquire(shared_half(&session->limits->removed)) == 0;
}

static int reserve_pages(int fd, size_t offset, size_t bytes, struct error *err)
{
        int rc = reserve_bytes(fd, offset, bytes);

        if (rc == 0)
                return 0;
        errno = -rc;
        return fail(err, rc, "room for the session's pages: %m");
}

int store_reserve_slot(int slots_fd, unsigned slot, struct error *err)
{
        const size_t rows = sizeof(((struct slots_page *)0)->row[0]);
        int rc;

        if (slot >= PAGE_SLOTS)
                return fail(err, -EINVAL, "slot %u of %u", slot, PAGE_SLOTS);
        rc = reserve_pages(slots_fd,
                           offsetof(struct slots_page, slot) + slot * sizeof(struct page_slot),
                           sizeof(struct page_slot), err);
        if (rc < 0)
                return rc;
        /* The ledger of a device that nobody used names slot 0, whether that slot was ever used
         * or not. */
        rc = reserve_pages(slots_fd, offsetof(struct slots_page, row), rows, err);
        if (rc < 0)
                return rc;
        return reserve_pages(slots_fd, offsetof(struct slots_page, row) + slot * rows, rows, err);
}
