/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file of an API's real library.
 *
 * The search begins with the file that a container was given for the library (common/injected.h).
 * The rest follows the loader's order: the environment variable that names the library (if it is
 * set, no other place is tried), the exact path that the program requested, the folders of the
 * caller's RPATH, LD_LIBRARY_PATH and RUNPATH, the loader's cache, its default folders, and the
 * driver's usual folders.
 *
 * A requested path without a library is skipped: if it were passed on, a library put there later
 * would bypass us. A file that carries our mark (self.h) is skipped too. If our library is mounted
 * over the driver's file name, the driver is the numbered file beside it.
 */
#ifndef ALIQUOT_INTERPOSE_FINDER_H
#define ALIQUOT_INTERPOSE_FINDER_H

#include <stdbool.h>

#include "interpose/api.h"

/* What the program requested; either field may be NULL. */
struct search_hint {
        const char *file;   /* file name as the program passed it */
        const void *caller; /* an address in the object that makes the call */
};

/* Writes the absolute path of the library to `ret_path` (PATH_MAX bytes); false: there is none.
 * Changes errno and dlerror(), which library_open() saves. */
bool search_library(const struct api *api, const struct search_hint *hint, char *ret_path);

#endif
