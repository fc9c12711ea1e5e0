/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of our files that never change: LIBRARIES/HASH/, named by what is in them.
 *
 *      const struct kept_file files[] = {
 *              { .name = "libcuda.so.1", .source = "/usr/lib/aliquot/shims/libcuda.so.1" },
 *              { .name = "driver/simulator", .text = "memory=16GiB\n" },
 *      };
 *
 *      kept_make("/var/lib/aliquot/lib", files, 2, path, &err)
 *
 * Containers have them mounted, so an upgrade of ours, which makes another folder beside this one,
 * changes nothing for those that run. A folder is made under another name and renamed when it is
 * whole. One that is there already is compared, byte by byte, and never written: -EEXIST if it is
 * not what its name says. Old folders are nobody's to remove but the administrator's: a container
 * that was stopped needs its own to start again.
 */
#ifndef ALIQUOT_CLI_CDI_KEPT_H
#define ALIQUOT_CLI_CDI_KEPT_H

#include <limits.h>

#include "common/error.h"

struct kept_file {
        const char *name;   /* in the folder; at most one folder deep */
        const char *source; /* the file to copy; NULL: the text */
        const char *text;
};

/* The folder's path into `ret`, made if need be, its parents too. */
int kept_make(const char *libraries, const struct kept_file *files, unsigned count,
              char ret[PATH_MAX], struct error *err);

#endif
