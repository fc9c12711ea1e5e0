/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates a session: writes both files in a folder with another name, then renames the folder
 * without replacing anything. So a visible session is complete; if two processes create it, one
 * gets -EEXIST.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/host_memory.h"
#include "common/quiet.h"
#include "common/random.h"
#include "common/scoped.h"
#include "common/text.h"
#include "settings/settings.h"
#include "store/folder.h"

#define FRESH_STEM "run-"
#define FRESH_DIGITS 16u

static int copy_text(char *ret, size_t bytes, const char *text, const char *what, struct error *err)
{
        if (!text)
                text = "";
        if (strlen(text) >= bytes)
                return fail(err, -E2BIG, "%s of more than %zu characters", what, bytes - 1);
        memcpy(ret, text, strlen(text));
        return 0;
}

_Static_assert(SETTINGS_CANONICAL_BYTES == sizeof(((struct limits_page *)0)->created_as),
               "the words of any settings fit the page");

/* Adds the rows of host memory and of swappable memory. Any memory of the session may be swapped
 * out of its one GPU; the daemon later writes how much may be on the card. */
static int add_swap_rows(const struct settings_limits *limits, struct limits_page *page,
                         struct error *err)
{
        struct limits_device *gpu = &page->device[0], *host = &page->device[1];
        struct limits_device *swap = &page->device[2];

        if (limits->count != 1)
                return fail(err, -EINVAL, "a session that swaps has one GPU, not %u",
                            limits->count);
        page->flags |= PAGE_SWAPS;
        memcpy(host->uuid, PAGE_HOST_NAME, sizeof(host->uuid));
        host->limit_bytes = host->card_bytes = gpu->limit_bytes;
        memcpy(swap->uuid, PAGE_SWAP_NAME, sizeof(swap->uuid));
        swap->limit_bytes = swap->card_bytes = PAGE_UNLIMITED;
        gpu->lease.room.max_bytes = gpu->limit_bytes;
        return 0;
}

/* Adds the rows that stand for no card, behind those of the GPUs. */
static int add_other_rows(const struct settings_limits *limits, struct limits_page *page,
                          struct error *err)
{
        struct limits_device *row = &page->device[limits->count % PAGE_DEVICES];

        if (limits->swaps)
                return add_swap_rows(limits, page, err);
        if (!limits->host_bytes)
                return 0;
        if (limits->count >= PAGE_DEVICES)
                return fail(err, -ENOSPC, "beside %u GPUs there is no place for the host's memory",
                            PAGE_DEVICES);
        memcpy(row->uuid, PAGE_HOST_NAME, sizeof(row->uuid));
        row->limit_bytes = limits->host_bytes == SETTINGS_HOST_SPARE ? host_memory_default()
                                                                     : limits->host_bytes;
        row->card_bytes = row->limit_bytes;
        return row->limit_bytes ? 0
                                : fail(err, -ENOMEM,
                                       "how much memory the host has cannot be told; "
                                       "say how much of it to use");
}

static int fill_limits(const struct store_request *request, struct limits_page *page,
                       struct error *err)
{
        const struct settings_limits *limits = request->limits;
        const struct store_tenancy *tenancy = request->tenancy;
        int rc;

        *page = (struct limits_page){
                .magic = PAGE_LIMITS_MAGIC,
                .page_bytes = sizeof(*page),
                .owner = tenancy ? PAGE_OWNER_DAEMON : PAGE_OWNER_USER,
                .flags = request->flags,
                .default_limit_bytes = limits->default_bytes,
                .default_micro_percent = limits->default_micro_percent,
                .default_cap_ppm = limits->default_cap_ppm,
        };
        rc = settings_check_name("session", request->name, err);
        if (tenancy)
                memcpy(page->session_id, tenancy->id, sizeof(page->session_id));
        else if (rc == 0)
                rc = random_fill(page->session_id, sizeof(page->session_id), err);
        if (rc == 0)
                rc = copy_text(page->name, sizeof(page->name), request->name, "a name", err);
        if (rc == 0)
                rc = copy_text(page->device_name, sizeof(page->device_name), request->device_name,
                               "a device name", err);
        if (rc == 0)
                rc = copy_text(page->created_as, sizeof(page->created_as), request->created_as,
                               "limits", err);
        for (unsigned i = 0; i < limits->count && i < PAGE_DEVICES; i++) {
                memcpy(page->device[i].uuid, limits->device[i].uuid, 16);
                page->device[i].limit_bytes = limits->device[i].limit_bytes;
                page->device[i].card_bytes = limits->device[i].card_bytes;
                page->device[i].cap_ppm = limits->device[i].cap_ppm;
        }
        if (rc == 0)
                rc = add_other_rows(limits, page, err);
        page->version = page_version_of(page->flags);
        return rc;
}

/* The first fields of struct slots_page. */
struct slots_head {
        uint64_t magic;
        uint32_t version;
        uint32_t slot_count;
        uint64_t page_bytes;
        uint64_t session_id[2];
};
_Static_assert(sizeof(struct slots_head) <= offsetof(struct slots_page, slots_high) &&
                       offsetof(struct slots_head, session_id) ==
                               offsetof(struct slots_page, session_id),
               "the same layout");
/* Writing the head allocates memory for the first page, and that page has all that joining
 * processes access before they get a slot. */
_Static_assert(offsetof(struct slots_page, slot) <= 4096, "one page holds what comes first");

/* A file of `bytes` that begins with `head` and has only holes behind it. */
struct file_content {
        const void *head;
        size_t head_bytes;
        uint64_t bytes;
};

static int write_file(int folder, const char *name, struct file_content content)
{
        scoped_fd int fd = folder_open_file(folder, name, O_RDWR | O_CREAT | O_EXCL);
        struct quiet quiet;
        ssize_t written = -1;

        if (fd < 0)
                return fd;
        quiet_begin(&quiet); /* the program may have a limit on the size of its files */
        if (fchmod(fd, 0600) == 0 && ftruncate(fd, (off_t)content.bytes) == 0)
                written = pwrite(fd, content.head, content.head_bytes, 0);
        quiet_end(&quiet);
        if (written < 0)
                return -errno;
        return (size_t)written == content.head_bytes ? 0 : -ENOSPC;
}

static int write_session(int folder, const struct limits_page *limits, struct error *err)
{
        const struct slots_head slots = {
                .magic = PAGE_SLOTS_MAGIC,
                .version = limits->version,
                .slot_count = PAGE_SLOTS,
                .page_bytes = sizeof(struct slots_page),
                .session_id = { limits->session_id[0], limits->session_id[1] },
        };
        const struct file_content content[] = {
                { limits, sizeof(*limits), sizeof(*limits) },
                { &slots, sizeof(slots), sizeof(struct slots_page) },
        };
        int rc = write_file(folder, FOLDER_LIMITS, content[0]);

        if (rc == 0)
                rc = write_file(folder, FOLDER_SLOTS, content[1]);
        if (rc < 0) {
                errno = -rc;
                return fail(err, rc, "write: %m");
        }
        return 0;
}

/* Renames the new folder to the session's name. Never replaces a session: a file system without
 * the flag still refuses to replace a folder that is not empty. */
static int rename_into_place(int sessions, const char *temporary, const char *name,
                             struct error *err)
{
        long rc = syscall(SYS_renameat2, sessions, temporary, sessions, name, RENAME_NOREPLACE);

        if (rc < 0 && (errno == EINVAL || errno == ENOSYS))
                rc = renameat(sessions, temporary, sessions, name);
        if (rc == 0)
                return 0;
        if (errno == EEXIST || errno == ENOTEMPTY)
                return fail(err, -EEXIST, "exists already");
        return fail(err, -errno, "%m");
}

static int make_session(int sessions, const struct limits_page *limits,
                        const struct store_tenancy *tenancy, struct error *err)
{
        char temporary[PAGE_NAME_BYTES];
        scoped_fd int folder = -1;
        int rc = folder_temporary_name(".new-", temporary, err);

        if (rc < 0)
                return rc;
        folder = folder_open_directory(sessions, temporary, true, err);
        if (folder < 0)
                return folder;
        rc = write_session(folder, limits, err);
        if (rc == 0 && tenancy)
                rc = folder_grant(folder, tenancy->uid, err);
        if (rc == 0 && tenancy && tenancy->is_containers &&
            fchmodat(folder, FOLDER_SLOTS, 0666, 0) < 0)
                rc = fail(err, -errno, "open %s to a container: %m", FOLDER_SLOTS);
        if (rc == 0)
                rc = rename_into_place(sessions, temporary, limits->name, err);
        if (rc < 0)
                folder_delete(sessions, temporary, NULL);
        return rc;
}

int store_create(const struct store *store, const struct store_request *request,
                 struct store_session *ret, struct error *err)
{
        scoped_fd int sessions = -1;
        struct limits_page limits;
        int rc = fill_limits(request, &limits, err);

        if (rc < 0)
                return rc;
        sessions = folder_open_sessions(store, true, err);
        if (sessions < 0)
                return sessions;
        rc = make_session(sessions, &limits, request->tenancy, err);
        if (rc < 0) {
                wrap(err, "session %s in %s", request->name, store->path);
                return rc;
        }
        rc = request->tenancy ? store_join_owned(store, request->name, ret, err)
                              : store_join(store, request->name, true, ret, err);
        if (rc == -ENOENT)
                rc = fail(err, -EBUSY, "session %s in %s was removed as soon as it was made",
                          request->name, store->path);
        return rc;
}

int store_fresh_name(char ret[PAGE_NAME_BYTES], struct error *err)
{
        return folder_temporary_name(FRESH_STEM, ret, err);
}

bool store_is_fresh_name(const char *name)
{
        const char *digits = name + strlen(FRESH_STEM);

        return strncmp(name, FRESH_STEM, strlen(FRESH_STEM)) == 0 &&
               strlen(digits) == FRESH_DIGITS && strspn(digits, "0123456789abcdef") == FRESH_DIGITS;
}
