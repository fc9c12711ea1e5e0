/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real library behind an API: found, opened and bound at its first use, and never closed.
 *
 * Happy path: search_library() finds it, the C library's own dlopen opens it by absolute path,
 * every slot of the table gets its address (or a stand-in if the driver lacks the function), and
 * the record is published. We hold no lock meanwhile, so any thread may call at any time, also in a
 * constructor under the loader's lock, or in the real library's own constructor: all do the same
 * work, the loader opens one library, and the first to finish publishes. No library: NULL, and the
 * next call searches again.
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

/* The open library, opened if necessary; NULL if none can be opened. */
const struct library *library_open(const struct api *api, const struct search_hint *hint);

/* The path that library_open() would open; does not open it. NULL if there is none. The string
 * stays valid for the life of the process. */
const char *library_locate(const struct api *api, const struct search_hint *hint);

/* The opened library, or NULL; never opens. */
static inline const struct library *library_get(const struct api *api)
{
        return load_acquire(api->library);
}

/* Whether the driver has a function. Opens the library. */
bool library_has(const struct api *api, unsigned entry);

/* The API whose real library contains an address, or NULL. */
const struct api *library_containing(const void *address);

#endif
