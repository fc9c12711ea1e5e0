/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes attributes (xattr, "user.NAME") that a tenant sets on its `slots`. A session needs none,
 * and tmpfs (since Linux 6.6) counts each KiB of them as an inode of the file system.
 *
 * The kernel lists at most 64 KiB of names. With more names it lists none, and an attribute cannot
 * be removed without its name.
 */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "store/store.h"

#define USERS "user."
#define FEW_BYTES 256u /* enough for an access list and a security module's attributes */
#define NAMES_BYTES 65536u
#define ROUNDS_MAX 16u /* a tenant may add attributes as fast as they are removed */

static bool is_users(const char *name)
{
        return strncmp(name, USERS, sizeof(USERS) - 1) == 0;
}

/* Reads only a short list of names: listing takes time by length, and a tenant has many files. A
 * longer list has attributes of a tenant. */
bool store_has_attributes(const char *path, int fd)
{
        char names[FEW_BYTES];
        const ssize_t bytes = path ? llistxattr(path, names, sizeof(names))
                                   : flistxattr(fd, names, sizeof(names));

        if (bytes < 0)
                return errno == ERANGE || errno == E2BIG;
        for (ssize_t at = 0; at < bytes;
             at += (ssize_t)strnlen(names + at, (size_t)(bytes - at)) + 1) {
                if (is_users(names + at))
                        return true;
        }
        return false;
}

/* Removes the tenant's attributes in a list of names. Returns how many were removed. */
static int drop_listed(int fd, const char *names, size_t bytes)
{
        int dropped = 0;

        for (size_t at = 0; at < bytes; at += strnlen(names + at, bytes - at) + 1) {
                if (is_users(names + at))
                        dropped += fremovexattr(fd, names + at) == 0;
        }
        return dropped;
}

int store_drop_attributes(int fd)
{
        static char names[NAMES_BYTES];
        int dropped = 1, sum = 0;

        for (unsigned i = 0; i < ROUNDS_MAX && dropped; i++) {
                const ssize_t bytes = flistxattr(fd, names, sizeof(names));

                if (bytes < 0)
                        return errno == EOPNOTSUPP ? sum : -errno;
                dropped = drop_listed(fd, names, (size_t)bytes);
                sum += dropped;
        }
        return sum;
}
