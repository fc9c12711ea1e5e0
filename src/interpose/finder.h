/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where on disk is the real library of an API?
 *
 * First the file that a container was given for it (common/injected.h). Then in the order in which
 * the loader would have looked had we not been there: the variable that names it (then nothing else
 * is tried), the very path that the program asked for, the folders of
 * the caller's RPATH, LD_LIBRARY_PATH and RUNPATH, the loader's cache, its default folders, and the
 * driver's usual folders. A path that names no library is passed over, lest it lead around us once
 * it does. Whatever carries our mark is passed over; where we stand in the driver's place (a bind
 * mount), a numbered file beside us is the driver.
 */
#ifndef ALIQUOT_INTERPOSE_FINDER_H
#define ALIQUOT_INTERPOSE_FINDER_H

#include <stdbool.h>

#include "interpose/api.h"

/* What the program gave us to go by; either may be NULL. */
struct search_hint {
        const char *file;   /* as the program wrote it */
        const void *caller; /* an address in the object that asks */
};

/* Fills an absolute path of at most PATH_MAX bytes; false if there is no such library. Leaves
 * errno and dlerror() in disorder: library_open() saves both. */
bool search_library(const struct api *api, const struct search_hint *hint, char *ret_path);

#endif
