/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's own dlopen family, behind our doors.
 *
 * Found by reading the loaded C library's symbols rather than by dlsym(RTLD_NEXT): that is one
 * of the doors, and the version strings differ from machine to machine. Never linked to: before
 * glibc 2.34 these functions live in a library of their own under other versions, and a file that
 * names the new ones does not load there at all.
 */
#ifndef ALIQUOT_INTERPOSE_LIBC_H
#define ALIQUOT_INTERPOSE_LIBC_H

#include <link.h>

enum libc_function {
        LIBC_DLOPEN,
        LIBC_DLMOPEN,
        LIBC_DLSYM,
        LIBC_DLVSYM,
        LIBC_DLADDR1,
        LIBC_DLCLOSE,
        LIBC_DLERROR,
        LIBC_DLINFO,
        LIBC_FUNCTIONS
};

/* The address of a function; NULL if this process's C library has none. */
void *libc_function(enum libc_function which);

struct link_map *libc_dlopen(const char *path, int mode);

/* The loaded object that an address lies in; NULL if none. Leaves dlerror() alone. */
struct link_map *libc_map_of(const void *address);

int libc_dlinfo(void *handle, int request, void *arg);

/* A handle for a loaded object, opening it once more: the loader prepares an object for lookups
 * only when it is opened, and follows a null pointer in one that never was. Never closed. */
void *libc_handle(const struct link_map *map);

/* A handle in which lookups of our APIs' names fail, in the loader's own words. */
void *libc_barren_handle(void);

/*
 * The program's pending dlerror(), which any use of the loader forgets. Saving takes it;
 * restoring provokes it again where that can be done (a file that could not be opened), since
 * the C library has no call to set it.
 */
struct libc_error {
        char file[256]; /* "" if nothing was pending, or nothing we can provoke again */
};
void libc_error_save(struct libc_error *ret);
void libc_error_restore(const struct libc_error *saved);

#endif
