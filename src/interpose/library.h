/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real library behind an API: found, opened and bound at the first need, then never let go.
 *
 * Happy path: search_library() names it, the C library's own dlopen opens it by absolute path,
 * every slot of the table gets its address (or a stand-in if the driver lacks it), and the record
 * is published. No lock of ours is held meanwhile, so any thread may come at any time, also inside
 * a constructor that runs under the loader's lock, or from the real library's own constructor: all
 * do the same work, the loader makes it one library, and the first to finish publishes.
 * No library: NULL, and the search is made again at the next call.
 */
#ifndef ALIQUOT_INTERPOSE_LIBRARY_H
#define ALIQUOT_INTERPOSE_LIBRARY_H

#include <limits.h>

#include "interpose/api.h"
#include "interpose/object.h"
#include "interpose/finder.h"

struct library {
        struct link_map *map; /* also its dlopen handle */
        uintptr_t low, high;  /* where it is mapped */
        struct elf elf;
        char path[PATH_MAX];
};

/* The opened library, opening it if need be; NULL when there is none that can be opened. */
const struct library *library_open(const struct api *api, const struct search_hint *hint);

/* The path that library_open() would open, without opening; NULL if there is none. The string stays
 * for the life of the process. */
const char *library_locate(const struct api *api, const struct search_hint *hint);

/* The opened library, or NULL; never opens. */
static inline const struct library *library_get(const struct api *api)
{
        return load_acquire(api->library);
}

/* Whether the driver has a function. Opens the library. */
bool library_has(const struct api *api, unsigned entry);

/* The API whose real library an address lies in, or NULL. */
const struct api *library_containing(const void *address);

#endif
