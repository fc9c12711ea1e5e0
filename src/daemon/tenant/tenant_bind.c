/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds a socket in a folder. The socket is bound under another name and then renamed, so that it
 * accepts connections as soon as it is visible, and only from users whom its mode allows. A
 * socket's path must be short (sun_path), but the folder's path may be long, so the address uses
 * /proc/self/fd and the folder's descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/tenant/tenant_parts.h"

#define BACKLOG 512
#define SOCKET_NAME "socket"
#define MADE_NAME ".socket"

/* Binds, sets mode and owner, and only then listens: nobody can connect before listen(). */
static int bind_made(const struct tenant_binding *binding, struct error *err)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int folder = binding->folder;

        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" MADE_NAME, folder);
        if (unlinkat(folder, MADE_NAME, 0) < 0 && errno != ENOENT)
                return fail(err, -errno, "%s: %m", MADE_NAME);
        if (bind(binding->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return fail(err, -errno, "bind: %m");
        if (fchmodat(folder, MADE_NAME, binding->mode, 0) < 0)
                return fail(err, -errno, "its mode: %m");
        if (binding->uid != geteuid() &&
            fchownat(folder, MADE_NAME, binding->uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0)
                return fail(err, -errno, "give it to user %u: %m", binding->uid);
        if (listen(binding->fd, BACKLOG) < 0)
                return fail(err, -errno, "listen: %m");
        return renameat(folder, MADE_NAME, folder, SOCKET_NAME) < 0 ? fail(err, -errno, "%m") : 0;
}

int tenant_bind(const struct tenant_binding *binding, uint64_t *ret_device, uint64_t *ret_inode,
                struct error *err)
{
        struct stat st;
        int rc = bind_made(binding, err);

        if (rc < 0)
                return rc;
        if (fstatat(binding->folder, SOCKET_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return fail(err, -errno, "%m");
        *ret_device = (uint64_t)st.st_dev;
        *ret_inode = (uint64_t)st.st_ino;
        return 0;
}

bool tenant_is_bound(int folder, uint64_t device, uint64_t inode)
{
        struct stat st;

        return fstatat(folder, SOCKET_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               (uint64_t)st.st_dev == device && (uint64_t)st.st_ino == inode;
}
