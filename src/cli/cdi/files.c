/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cdi/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/text.h"

#define DEPTH 4 /* maximum number of descriptors for nftw() */

static int fail_path(const char *path, struct error *err)
{
        return fail(err, -errno, "%s: %m", path);
}

int files_read(const char *path, char **ret, size_t *ret_bytes, struct error *err)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        scoped_free char *bytes = NULL;
        size_t count = 0;
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fail_path(path, err);
        if (!S_ISREG(st.st_mode))
                return fail(err, -EINVAL, "%s: expected a file", path);
        bytes = malloc((size_t)st.st_size + 1);
        if (!bytes)
                return fail(err, -ENOMEM, "%s: out of memory", path);
        while (count < (size_t)st.st_size) {
                ssize_t got = read(fd, bytes + count, (size_t)st.st_size - count);

                if (got < 0)
                        return fail_path(path, err);
                if (got == 0)
                        return fail(err, -EIO, "%s became shorter while it was read", path);
                count += (size_t)got;
        }
        *ret = steal_ptr(&bytes);
        *ret_bytes = count;
        return 0;
}

int files_write(const char *path, const char *bytes, size_t count, struct error *err)
{
        scoped_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        if (fd < 0)
                return fail_path(path, err);
        while (count) {
                ssize_t put = write(fd, bytes, count);

                if (put < 0)
                        return fail_path(path, err);
                bytes += put;
                count -= (size_t)put;
        }
        /* the mode must not depend on the umask */
        if (fchmod(fd, 0644) < 0 || fsync(fd) < 0)
                return fail_path(path, err);
        return 0;
}

int files_sync_parent(const char *path, struct error *err)
{
        char parent[PATH_MAX];
        int rc = text_put(parent, sizeof(parent), err, "%.*s", (int)(strrchr(path, '/') - path),
                          path);
        scoped_fd int fd = rc < 0 ? -1 : open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (rc < 0)
                return rc;
        return fd < 0 || fsync(fd) < 0 ? fail_path(parent, err) : 0;
}

int files_replace(const char *path, const char *bytes, size_t count, struct error *err)
{
        char made[PATH_MAX];
        int rc = text_put(made, sizeof(made), err, "%s.new-%d", path, (int)getpid());

        /* It may be left from a process with the same pid that was killed. */
        unlink(made);
        if (rc == 0)
                rc = files_write(made, bytes, count, err);
        if (rc == 0 && rename(made, path) < 0)
                rc = fail_path(path, err);
        if (rc < 0) {
                unlink(made);
                return rc;
        }
        return files_sync_parent(path, err);
}

int files_make_folder(const char *path, struct error *err)
{
        char parent[PATH_MAX];
        char *slash = parent;
        struct stat st;
        int rc = text_put(parent, sizeof(parent), err, "%s/", path);

        while (rc == 0 && (slash = strchr(slash + 1, '/'))) {
                *slash = '\0';
                /* the mode must not depend on the umask */
                if (mkdir(parent, 0755) == 0 ? chmod(parent, 0755) < 0 : errno != EEXIST)
                        return fail_path(parent, err);
                *slash = '/';
        }
        if (rc == 0 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
                return fail(err, -ENOTDIR, "%s: expected a folder", path);
        return rc;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        return remove(path);
}

void files_remove_folder(const char *path)
{
        nftw(path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
