/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of Aliquot's files that never change: LIBRARIES/HASH/, where HASH is of the files'
 * contents.
 *
 *      const struct kept_file files[] = {
 *              { .name = "libcuda.so.1", .source = "/usr/lib/aliquot/shims/libcuda.so.1" },
 *              { .name = "driver/simulator", .text = "memory=16GiB\n" },
 *      };
 *
 *      kept_make("/var/lib/aliquot/lib", files, 2, path, &err)
 *
 * Containers mount these folders. An upgrade of Aliquot creates another folder, and so changes
 * nothing for running containers. A folder is created under another name and renamed when it is
 * complete. An existing folder is compared byte by byte and never written: -EEXIST if it does not
 * have the contents of its name. Only the administrator removes old folders: a stopped container
 * needs its folder to start again.
 */
#ifndef ALIQUOT_CLI_CDI_KEPT_H
#define ALIQUOT_CLI_CDI_KEPT_H

#include <limits.h>

#include "common/error.h"

struct kept_file {
        const char *name;   /* name in the folder; at most one subfolder deep */
        const char *source; /* path of the file to copy; NULL: use `text` */
        const char *text;
};

/* Creates the folder if it does not exist, with its parents, and stores its path in `ret`. */
int kept_make(const char *libraries, const struct kept_file *files, unsigned count,
              char ret[PATH_MAX], struct error *err);

#endif
