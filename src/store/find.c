/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which runtime folder: the one that was asked for, or the first of the usual ones that works.
 *
 * A folder that was asked for and does not work is an error; of the usual ones only the last is,
 * since a folder of another user in the first places is no reason not to have one's own. Who only
 * reads passes by what cannot be written as well, or would not see what was made further on.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/text.h"
#include "store/folder.h"

static int try_folder(const struct store *store, bool make, bool must_be_writable,
                      struct error *err)
{
        scoped_fd int fd = folder_open_directory(AT_FDCWD, store->path, make, err);

        if (fd < 0)
                return fd;
        if (must_be_writable && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
                return fail(err, -errno, "%s cannot be written: %m", store->path);
        return 0;
}

int store_find(struct store *ret, const char *asked, bool make, struct error *err)
{
        const char *xdg = getenv("XDG_RUNTIME_DIR");
        struct store store;
        int rc;

        if (asked && asked[0]) {
                rc = text_put(store.path, sizeof(store.path) - 128, err, "%s", asked);
                if (rc == 0)
                        rc = try_folder(&store, make, make, err);
                /* A daemon's: there are sessions to join, and none to make. */
                if (rc == -EACCES)
                        rc = try_folder(&store, false, false, err);
                if (rc < 0) {
                        wrap(err, "runtime folder");
                        return rc;
                }
                *ret = store;
                return 0;
        }

        text_put(store.path, sizeof(store.path), NULL, "/run/aliquot");
        rc = try_folder(&store, make, true, NULL);
        if (rc < 0 && xdg && xdg[0] == '/' &&
            text_put(store.path, sizeof(store.path) - 128, NULL, "%s/aliquot", xdg) == 0)
                rc = try_folder(&store, make, true, NULL);
        if (rc < 0) {
                text_put(store.path, sizeof(store.path), NULL, "/dev/shm/aliquot-%u", geteuid());
                rc = try_folder(&store, make, true, err);
        }
        if (rc < 0) {
                wrap(err, "no runtime folder (set ALIQUOT_RUNTIME_DIR to one)");
                return rc;
        }
        *ret = store;
        return 0;
}
