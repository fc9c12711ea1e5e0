/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/owner.h"

#include <errno.h>
#include <unistd.h>

int owner_check(const struct stat *st, const char *path, struct error *err)
{
        if (st->st_uid == 0 || st->st_uid == geteuid())
                return 0;
        if (geteuid() == 0)
                return fail(err, -EPERM, "%s: belongs to user %u, expected root", path, st->st_uid);
        return fail(err, -EPERM, "%s: belongs to user %u, expected %u or root", path, st->st_uid,
                    geteuid());
}
