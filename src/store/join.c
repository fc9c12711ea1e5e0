/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapping the pages of a session that exists, each checked before it is believed.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/scoped.h"
#include "common/text.h"
#include "store/folder.h"

/* One of the two files. */
struct wanted {
        const char *name;
        uint64_t bytes;
        bool is_writable;
};

static int check_file(int fd, const struct wanted *wanted, struct store_file *ret,
                      struct error *err)
{
        struct stat st;

        if (fstat(fd, &st) < 0)
                return fail(err, -errno, "%s: %m", wanted->name);
        if (!S_ISREG(st.st_mode))
                return fail(err, -EPROTO, "%s is no plain file", wanted->name);
        if (st.st_uid != geteuid())
                return fail(err, -EPERM, "%s belongs to user %u, expected %u", wanted->name,
                            st.st_uid, geteuid());
        if (st.st_mode & 022)
                return fail(err, -EPERM, "%s can be written by others (mode %04o), expected 0600",
                            wanted->name, st.st_mode & 07777);
        if ((uint64_t)st.st_size != wanted->bytes)
                return fail(err, -EPROTO, "%s is %llu bytes, expected %llu", wanted->name,
                            (unsigned long long)st.st_size, (unsigned long long)wanted->bytes);
        *ret = (struct store_file){ .device = st.st_dev, .inode = st.st_ino };
        return 0;
}

/* The file mapped, and which file it is. */
static int map_file(int folder, const struct wanted *wanted, void **ret,
                    struct store_file *ret_file, struct error *err)
{
        scoped_fd int fd =
                folder_open_file(folder, wanted->name, wanted->is_writable ? O_RDWR : O_RDONLY);
        int protection = wanted->is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
        struct store_file file;
        void *mapped;
        int rc;

        if (fd < 0) {
                errno = -fd;
                return fail(err, fd, "open %s: %m", wanted->name);
        }
        rc = check_file(fd, wanted, &file, err);
        if (rc < 0)
                return rc;
        mapped = mmap(NULL, wanted->bytes, protection, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED)
                return fail(err, -errno, "map %s: %m", wanted->name);
        *ret = mapped;
        *ret_file = file;
        return 0;
}

static int check_pages(const struct store_session *session, const char *name, struct error *err)
{
        int rc = page_check_limits(session->limits, sizeof(*session->limits), err);

        if (rc == 0)
                rc = page_check_slots(session->slots, sizeof(*session->slots), err);
        if (rc < 0)
                return rc;
        if (memcmp(session->limits->session_id, session->slots->session_id,
                   sizeof(session->limits->session_id)) != 0)
                return fail(err, -EPROTO, "limits and slots belong to different sessions");
        if (strncmp(session->limits->name, name, PAGE_NAME_BYTES) != 0)
                return fail(err, -EPROTO, "the limits of another session");
        return 0;
}

static int map_session(int folder, const char *name, struct store_session *session,
                       struct error *err)
{
        const struct wanted limits = { FOLDER_LIMITS, sizeof(*session->limits),
                                       session->is_writable };
        const struct wanted slots = { FOLDER_SLOTS, sizeof(*session->slots), true };
        void *mapped = NULL;
        int rc = map_file(folder, &limits, &mapped, &session->limits_file, err);

        session->limits = mapped;
        if (rc < 0 || !mapped)
                return rc;
        mapped = NULL;
        rc = map_file(folder, &slots, &mapped, &session->slots_file, err);
        session->slots = mapped;
        return rc < 0 || !mapped ? rc : check_pages(session, name, err);
}

int folder_map_session(const struct store *store, const char *name, bool writable,
                       struct store_session *ret, struct error *err)
{
        struct store_session session = { .is_writable = writable };
        scoped_fd int sessions = -1;
        scoped_fd int folder = -1;
        int rc = settings_check_name("session", name, err);

        if (rc == 0)
                rc = text_put(session.path, sizeof(session.path) - 16, err, "%s/%s/%s", store->path,
                              FOLDER_SESSIONS, name);
        if (rc < 0)
                return rc;
        sessions = folder_open_sessions(store, false, err);
        if (sessions < 0)
                return sessions;
        folder = folder_open_directory(sessions, name, false, err);
        rc = folder < 0 ? folder : map_session(folder, name, &session, err);
        if (rc < 0) {
                store_close(&session);
                wrap(err, "session %s in %s", name, store->path);
                /* Only a missing folder is a missing session. */
                return rc == -ENOENT && folder >= 0 ? -EPROTO : rc;
        }
        *ret = session;
        return 0;
}

int store_join(const struct store *store, const char *name, bool writable,
               struct store_session *ret, struct error *err)
{
        struct store_session session;
        int rc = folder_map_session(store, name, writable, &session, err);

        if (rc < 0)
                return rc;
        if (!store_is_current(&session)) {
                store_close(&session);
                return fail(err, -EBUSY,
                            "session %s is being removed; wait, or finish it with aliquot rm",
                            name);
        }
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

static int reserve(int fd, size_t offset, size_t bytes, struct error *err)
{
        if (fallocate(fd, 0, (off_t)offset, (off_t)bytes) == 0 || errno == EOPNOTSUPP)
                return 0;
        return fail(err, -errno, "room for the session's pages: %m");
}

int store_reserve_slot(int slots_fd, unsigned slot, struct error *err)
{
        const size_t rows = sizeof(((struct slots_page *)0)->row[0]);
        int rc;

        if (slot >= PAGE_SLOTS)
                return fail(err, -EINVAL, "slot %u of %u", slot, PAGE_SLOTS);
        rc = reserve(slots_fd, offsetof(struct slots_page, slot) + slot * sizeof(struct page_slot),
                     sizeof(struct page_slot), err);
        if (rc < 0)
                return rc;
        return reserve(slots_fd, offsetof(struct slots_page, row) + slot * rows, rows, err);
}
