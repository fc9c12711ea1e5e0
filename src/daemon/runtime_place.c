/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/runtime_place.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/text.h"

#define FOLDERS 2u

int runtime_place_note(const char *folder, struct runtime_place *ret, struct error *err)
{
        static const char *const parts[FOLDERS] = { "", "/sessions" };

        for (unsigned i = 0; i < FOLDERS; i++) {
                char *path = ret->folder[i].path;
                int rc = text_put(path, STORE_PATH_BYTES, err, "%s%s", folder, parts[i]);

                if (rc < 0)
                        return rc;
                ret->folder[i].fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (ret->folder[i].fd < 0)
                        return fail(err, -errno, "%s: %m", path);
        }
        return 0;
}

static int check_unmoved(const char *path, int fd, struct error *err)
{
        struct stat there, ours;

        if (lstat(path, &there) < 0)
                return errno == ENOENT || errno == ENOTDIR
                               ? fail(err, -ESTALE,
                                      "%s was deleted or moved away under this daemon", path)
                               : 0;
        if (fstat(fd, &ours) < 0 || (there.st_dev == ours.st_dev && there.st_ino == ours.st_ino))
                return 0;
        return fail(err, -ESTALE, "%s was replaced under this daemon by another", path);
}

int runtime_place_look(const struct runtime_place *place, struct error *err)
{
        int rc = 0;

        for (unsigned i = 0; rc == 0 && i < FOLDERS; i++)
                rc = check_unmoved(place->folder[i].path, place->folder[i].fd, err);
        return rc;
}
