/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real library of an API: found, opened and bound at its first use, and never closed.
 *
 * In the usual case search_library() finds the library, the C library's own dlopen opens it by
 * absolute path, every slot of the table gets the address of its function (or of a stand-in if the
 * driver lacks the function), and the struct library is published. No lock of ours is held
 * meanwhile, so any thread may call at any time, even in a constructor under the loader's lock, or
 * in the real library's own constructor. Threads that race all do the same work: the loader opens
 * the library once, and the first thread to finish publishes. If no library is found the result is
 * NULL, and the next call searches again.
 */
#ifndef ALIQUOT_INTERPOSE_LIBRARY_H
#define ALIQUOT_INTERPOSE_LIBRARY_H

#include <limits.h>

#include "interpose/api.h"
#include "interpose/object.h"
#include "interpose/finder.h"

/* An opened real library. Constant once it is published, and never freed. */
struct library {
        /* its entry in the loader's list, which is also its dlopen() handle */
        struct link_map *map;
        uintptr_t low, high; /* the address range in which it is mapped */
        struct elf elf;
        char path[PATH_MAX];
};

/* Returns the real library, and opens it if necessary. NULL: none was found, or it cannot be
 * opened. `hint` may be NULL. */
const struct library *library_open(const struct api *api, const struct search_hint *hint);

/* Returns the path that library_open() would open, without opening it. NULL: none was found. The
 * string stays valid for the life of the process. */
const char *library_locate(const struct api *api, const struct search_hint *hint);

/* Returns the real library if it is open, else NULL. */
static inline const struct library *library_get(const struct api *api)
{
        return load_acquire(api->library);
}

/* Whether the real library has the entry's function. Opens the library. */
bool library_has(const struct api *api, unsigned entry);

/* Returns the API whose open real library contains `address`; NULL: none. */
const struct api *library_containing(const void *address);

#endif
