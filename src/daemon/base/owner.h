/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the owner of a file that the daemon trusts: it must be the daemon's own user or root.
 */
#ifndef ALIQUOT_DAEMON_BASE_OWNER_H
#define ALIQUOT_DAEMON_BASE_OWNER_H

#include <sys/stat.h>

#include "common/error.h"

/* Returns 0, or -EPERM if the file belongs to another user. `path` is for the message. */
int owner_check(const struct stat *st, const char *path, struct error *err);

#endif
