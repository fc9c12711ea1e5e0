/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the runtime folder: the requested one, or the first default one that works.
 *
 * If the requested folder does not work, that is an error. Of the default folders, only the failure
 * of the last one is an error, because another user's folder at an earlier default path must not
 * keep this user from having one. A caller that only reads skips folders that it cannot write, too;
 * otherwise it would not see sessions created in a later folder.
 */
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/environment.h"
#include "common/scoped.h"
#include "common/text.h"
#include "store/folder.h"

/* Adds advice to an error about a folder that belongs, or could belong, to somebody else. */
static int advise(int rc, struct error *err)
{
        char why[sizeof(err->text)];

        if (err && text_put(why, sizeof(why), NULL, "%s", err->text) == 0)
                fail(err, rc, "%s; name a folder of your own with ALIQUOT_RUNTIME_DIR", why);
        return rc;
}

/* Refuses a folder on overlayfs. The live processes of a session are found by locks that last as
 * long as a mapping (store/liveness.h). On overlayfs the kernel maps the file of the lower
 * layer, so the lock ends with its descriptor: every process would count as dead, and its memory
 * as free. */
static int check_locks(int folder, const char *path, struct error *err)
{
        struct statfs fs;

        if (fstatfs(folder, &fs) < 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC)
                return 0;
        return fail(err, -EOPNOTSUPP,
                    "%s is on overlayfs (as a container's own files are), which keeps no locks for "
                    "mapped files; name a folder on a tmpfs with ALIQUOT_RUNTIME_DIR, such as "
                    "/dev/shm/aliquot",
                    path);
}

static int try_folder(const struct store *store, bool make, bool must_be_writable,
                      struct error *err)
{
        scoped_fd int fd = folder_open_directory(AT_FDCWD, store->path, make, err);
        int rc;

        if (fd < 0)
                return fd == -EPERM ? advise(fd, err) : fd;
        rc = check_locks(fd, store->path, err);
        if (rc < 0)
                return rc;
        if (must_be_writable && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
                return fail(err, -errno, "%s cannot be written: %m", store->path);
        return 0;
}

/* Whether the entry belongs to something other than Aliquot. Entries of Aliquot are those that a
 * daemon has before the first session (its lock, its socket, perhaps its database), and a
 * session that is being created. */
static bool is_foreign(const char *name)
{
        static const char *const ours[] = { ".", "..", "daemon.lock", "daemon", FOLDER_SESSIONS };

        for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
                if (strcmp(name, ours[i]) == 0)
                        return false;
        }
        return strncmp(name, "aliquot", 7) != 0;
}

/* Checks that a requested folder is used for nothing else. A folder with sessions may have other
 * files too, and a folder that we may not list belongs to a daemon. Any other folder must have
 * no foreign entries. */
static int check_ours(int folder, const char *path, struct error *err)
{
        scoped_dir DIR *entries = NULL;
        struct dirent *entry;
        int fd;

        if (faccessat(folder, FOLDER_SESSIONS, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                return 0;
        fd = folder_open_file(folder, ".", O_RDONLY | O_DIRECTORY);
        if (fd < 0)
                return 0;
        entries = fdopendir(fd);
        if (!entries) {
                close(fd);
                return fail(err, -ENOMEM, "%s: out of memory", path);
        }
        while ((entry = readdir(entries))) {
                if (is_foreign(entry->d_name))
                        return fail(err, -ENOTEMPTY,
                                    "%s is in use for other things; name an empty folder, or one "
                                    "that is yet to be made, such as %s/aliquot",
                                    path, path);
        }
        return 0;
}

/* Tries the requested folder. */
static int try_asked(const struct store *store, bool make, struct error *err)
{
        scoped_fd int fd = -1;
        int rc = try_folder(store, make, make, err);

        if (rc ==
            -EACCES) /* a daemon's folder: its sessions can be joined, but none can be created */
                rc = try_folder(store, false, false, err);
        if (rc < 0)
                return rc;
        fd = folder_open_directory(AT_FDCWD, store->path, false, err);
        return fd < 0 ? fd : check_ours(fd, store->path, err);
}

#define IN_XDG "/aliquot"
#define OF_A_USER "/dev/shm/aliquot-" /* followed by the uid */

bool store_is_usual(const struct store *store)
{
        const char *last = strrchr(store->path, '/');
        const char *uid = store->path + strlen(OF_A_USER);

        if (last && strcmp(last, IN_XDG) == 0)
                return true;
        return strncmp(store->path, OF_A_USER, strlen(OF_A_USER)) == 0 && uid[0] &&
               strspn(uid, "0123456789") == strlen(uid);
}

int store_find(struct store *ret, const char *asked, bool make, struct error *err)
{
        const char *xdg = environment_get("XDG_RUNTIME_DIR");
        struct store store;
        int rc;

        if (asked && asked[0]) {
                rc = text_put(store.path, sizeof(store.path) - 128, err, "%s", asked);
                if (rc == 0)
                        rc = try_asked(&store, make, err);
                if (rc < 0) {
                        wrap(err, "runtime folder");
                        return rc;
                }
                *ret = store;
                return 0;
        }

        text_put(store.path, sizeof(store.path), NULL, STORE_SYSTEM_FOLDER);
        rc = try_folder(&store, make, true, NULL);
        if (rc < 0 && xdg && xdg[0] == '/' &&
            text_put(store.path, sizeof(store.path) - 128, NULL, "%s" IN_XDG, xdg) == 0)
                rc = try_folder(&store, make, true, NULL);
        if (rc < 0) {
                text_put(store.path, sizeof(store.path), NULL, OF_A_USER "%u", geteuid());
                rc = try_folder(&store, make, true, err);
        }
        if (rc < 0) {
                wrap(err, "no runtime folder (set ALIQUOT_RUNTIME_DIR to one)");
                return rc;
        }
        *ret = store;
        return 0;
}
