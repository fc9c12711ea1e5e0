/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a tenant with another uid access to its session's folder.
 *
 * The access lists name exactly that user, and not a group with other members. The user may pass
 * through the folder and read `limits`; `slots` belongs to the user. The folder and `limits` stay
 * ours, so the tenant can neither replace them nor extend their access lists. The tenant may not
 * list the folder: a process that lists a folder into memory of a FUSE file system holds the
 * folder's lock as long as it likes, and creating or deleting a file in the folder then waits. On a
 * file system without access lists, all users may pass through the folder but read nothing in it;
 * then the session is joined through its socket.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/scoped.h"
#include "store/folder.h"

/* The kernel's form of an access list (Linux, posix_acl_xattr.h): version 2, little endian. */
#define LIST_VERSION 2u
#define LIST_NO_ID UINT32_MAX
enum list_tag { LIST_OWNER = 1, LIST_USER = 2, LIST_GROUP = 4, LIST_MASK = 16, LIST_OTHER = 32 };

struct list_entry {
        uint16_t tag;
        uint16_t permissions; /* bits: 4 read, 2 write, 1 execute or pass through */
        uint32_t id;
};

struct access_list {
        uint32_t version;
        struct list_entry entry[5];
};

static struct list_entry entry(enum list_tag tag, unsigned permissions, uint32_t id)
{
        return (struct list_entry){ htole16((uint16_t)tag), htole16((uint16_t)permissions),
                                    htole32(id) };
}

/* The access that a list gives. */
struct list_wish {
        uint32_t tenant_uid;
        unsigned owner, tenant; /* permissions of the owner and of the tenant */
};

static int let_tenant_use(int fd, const char *what, const struct list_wish *wish, struct error *err)
{
        const struct access_list list = { htole32(LIST_VERSION),
                                          { entry(LIST_OWNER, wish->owner, LIST_NO_ID),
                                            entry(LIST_USER, wish->tenant, wish->tenant_uid),
                                            entry(LIST_GROUP, 0, LIST_NO_ID),
                                            entry(LIST_MASK, wish->tenant, LIST_NO_ID),
                                            entry(LIST_OTHER, 0, LIST_NO_ID) } };

        if (fsetxattr(fd, "system.posix_acl_access", &list, sizeof(list), 0) == 0)
                return 0;
        return fail(err, -errno, "let user %u read %s: %m", wish->tenant_uid, what);
}

int folder_grant(int folder, uint32_t uid, struct error *err)
{
        scoped_fd int limits = -1;
        int rc;

        if (uid == geteuid())
                return 0;
        limits = folder_open_file(folder, FOLDER_LIMITS, O_RDONLY);
        if (limits < 0)
                return fail(err, limits, "%s cannot be opened", FOLDER_LIMITS);
        if (fchownat(folder, FOLDER_SLOTS, uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0)
                return fail(err, -errno, "give %s to user %u: %m", FOLDER_SLOTS, uid);
        rc = let_tenant_use(limits, FOLDER_LIMITS, &(struct list_wish){ uid, 6, 4 }, err);
        if (rc == 0)
                rc = let_tenant_use(folder, "the session's folder",
                                    &(struct list_wish){ uid, 7, 1 }, err);
        if (rc == -EOPNOTSUPP)
                rc = fchmod(folder, 0711) < 0 ? fail(err, -errno, "open the folder: %m") : 0;
        return rc;
}
