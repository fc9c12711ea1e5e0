/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file of an API's real library.
 *
 * First the file that a container was given for it (common/injected.h). Then in the loader's order
 * without us: the variable that names it (then nothing else is tried), the exact path that the
 * program asked for, the folders of the caller's RPATH, LD_LIBRARY_PATH and RUNPATH, the loader's
 * cache, its default folders, and the driver's usual folders. A path without a library is skipped,
 * since a library put there later would bypass us. A file that carries our mark is skipped too; if
 * our library is mounted over the driver's name, a numbered file beside it is the driver.
 */
#ifndef ALIQUOT_INTERPOSE_FINDER_H
#define ALIQUOT_INTERPOSE_FINDER_H

#include <stdbool.h>

#include "interpose/api.h"

/* The program's request; either may be NULL. */
struct search_hint {
        const char *file;   /* as the program passed it */
        const void *caller; /* an address in the object that makes the request */
};

/* Fills an absolute path of at most PATH_MAX bytes; false if there is no such library. Changes
 * errno and dlerror(): library_open() saves both. */
bool search_library(const struct api *api, const struct search_hint *hint, char *ret_path);

#endif
