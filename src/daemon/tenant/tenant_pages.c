/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the pages whose descriptors are sent to processes: `limits` read-only, and `slots` as a new
 * open file description.
 *
 * A read-only descriptor can be reopened for writing through /proc/self/fd by any user whom the
 * file's mode allows to write: root in a container, or the daemon's own user. If the descriptor is
 * on a read-only mount, that fails with EROFS. Root in a container can also write a program to
 * `slots`, make it set-user-ID, and pass its descriptor to a user of the host; on a mount with
 * nosuid or noexec it gets no rights from that. The mounts used here are detached copies: for
 * `limits` one of the file, for all `slots` one of the runtime folder. Creating them needs
 * CAP_SYS_ADMIN; without that, only the mode protects `limits`, and of `slots` the options of the
 * mount that the runtime folder is on, which is usually /run with nosuid.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/text.h"
#include "daemon/tenant/tenant_parts.h"

/* Whether the daemon has CAP_SYS_ADMIN. Checked before any mount call, because the service's unit
 * forbids these system calls to a daemon without it. */
static bool may_mount(void)
{
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

        return syscall(SYS_capget, &head, data) == 0 &&
               (data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN));
}

/* Returns a detached copy of the mount at `fd`, from which nothing can be run, or a negative
 * errno. */
static int clone_mount(int fd, bool is_read_only)
{
        struct mount_attr attributes = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                                     MOUNT_ATTR_NOEXEC |
                                                     (is_read_only ? MOUNT_ATTR_RDONLY : 0) };
        scoped_fd int tree = -1;

        if (!may_mount())
                return -EPERM;
        tree = (int)syscall(SYS_open_tree, fd, "",
                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
        if (tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes,
                                sizeof(attributes)) < 0)
                return -errno;
        return steal_fd(&tree);
}

static bool is_on_mount_with(int fd, unsigned long flags)
{
        struct statvfs about;

        return fstatvfs(fd, &about) == 0 && (about.f_flag & flags) == flags;
}

/* Opens the file again through a read-only mount. Negative errno: that is not possible. */
static int open_read_only(int fd)
{
        scoped_fd int tree = clone_mount(fd, true);
        scoped_fd int again = -1;
        char path[64];

        if (tree < 0)
                return tree;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", tree);
        again = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (again < 0)
                return -errno;
        return is_on_mount_with(again, ST_RDONLY) ? steal_fd(&again) : -EROFS;
}

int tenant_mount(const char *folder)
{
        scoped_fd int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : clone_mount(fd, false);
}

bool tenant_may_run_programs(const char *folder)
{
        scoped_fd int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

        return fd >= 0 && !is_on_mount_with(fd, ST_NOSUID) && !is_on_mount_with(fd, ST_NOEXEC);
}

/* Opens `slots` again through the copy of the runtime folder's mount. -ENOENT: the copy does not
 * lead to it, because something was mounted in that folder. */
static int open_to_write(const struct tenant_listener *listener, int fd)
{
        scoped_fd int again = -1;
        char path[STORE_PATH_BYTES];
        struct stat one, other;
        int rc = text_put(path, sizeof(path), NULL, "sessions/%s/slots", listener->name);

        if (rc < 0)
                return rc;
        again = openat(listener->tenants->mount, path,
                       O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (again < 0 || fstat(fd, &one) < 0 || fstat(again, &other) < 0)
                return -errno;
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino ? steal_fd(&again)
                                                                        : -ENOENT;
}

static int open_one(const struct tenant_listener *listener, const char *file, int flags,
                    struct error *err)
{
        const struct store *store = node_store(listener->tenants->options.node);
        char path[STORE_PATH_BYTES];
        int rc = text_put(path, sizeof(path), err, "%s/sessions/%s/%s", store->path, listener->name,
                          file);
        int fd;

        if (rc < 0)
                return rc;
        fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? fail(err, -errno, "%s: %m", path) : fd;
}

/* Checks that the file is the session's. Only the daemon writes to the folder, but the folder may
 * have been replaced. */
static int check_id(int fd, const struct tenant_listener *listener, size_t offset,
                    struct error *err)
{
        uint8_t id[16];

        if (pread(fd, id, sizeof(id), (off_t)offset) != (ssize_t)sizeof(id) ||
            memcmp(id, listener->id, sizeof(id)) != 0)
                return fail(err, -ESTALE, "the pages of %s are another session's", listener->name);
        return 0;
}

static int open_limits(struct tenant_listener *listener, struct error *err)
{
        scoped_fd int fd = open_one(listener, "limits", O_RDONLY, err);
        int rc =
                fd < 0 ? fd : check_id(fd, listener, offsetof(struct limits_page, session_id), err);
        int mounted;

        if (rc < 0)
                return rc;
        if (pread(fd, &listener->page_version, sizeof(listener->page_version),
                  offsetof(struct limits_page, version)) != sizeof(listener->page_version))
                return fail(err, -EPROTO, "the limits of %s are cut short", listener->name);
        mounted = open_read_only(fd);
        listener->is_mounted = mounted >= 0;
        listener->limits = mounted >= 0 ? mounted : steal_fd(&fd);
        return 0;
}

int tenant_open_pages(struct tenant_listener *listener, int *ret_slots, struct error *err)
{
        scoped_fd int slots = -1;
        int rc = listener->limits < 0 ? open_limits(listener, err) : 0;

        if (rc < 0)
                return rc;
        slots = open_one(listener, "slots", O_RDWR, err);
        if (slots < 0)
                return slots;
        rc = listener->tenants->mount < 0 ? -ENOENT : open_to_write(listener, slots);
        if (rc == -ENOENT)
                rc = steal_fd(&slots);
        if (rc < 0)
                return fail(err, rc, "slots of %s: %s", listener->name, strerror(-rc));
        *ret_slots = rc;
        return 0;
}
