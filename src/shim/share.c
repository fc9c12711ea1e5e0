/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/share.h"

#include <errno.h>
#include <sys/stat.h>

#include "common/text.h"
#include "shim/socket.h"

static struct store store;

int share_find(const struct settings *settings, struct error *err)
{
        char path[STORE_PATH_BYTES];
        struct stat st;
        int rc = store_find(&store, settings->runtime_dir, false, err);

        if (rc == 0)
                rc = text_put(path, sizeof(path), err, "%s/share", store.path);
        if (rc < 0 || (stat(path, &st) == 0 && S_ISSOCK(st.st_mode)))
                return rc;
        return fail(err, -ENOENT,
                    "ALIQUOT_SWAP: no daemon shares a GPU this way in %s; start aliquotd with "
                    "swap = yes in [default], or use aliquot run --swap",
                    store.path);
}

int share_join(const struct settings *settings, struct store_session *ret, struct error *err)
{
        char path[STORE_PATH_BYTES];
        int rc = text_put(path, sizeof(path), err, "%s/share", store.path);

        if (rc == 0)
                rc = socket_join(path, true, settings, ret, err);
        if (rc == 0)
                rc = text_put(path, sizeof(path), err, "%s/sessions/%s/socket", store.path,
                              ret->limits->name);
        if (rc == 0)
                rc = text_put(ret->path, sizeof(ret->path), err, "%s", path);
        return rc < 0 ? rc : socket_renew_at(path, err);
}
