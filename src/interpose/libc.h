/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's own dlopen family, which our doors replace.
 *
 * Found by reading the symbols of the loaded C library, not with dlsym(RTLD_NEXT): that is a door
 * itself, and its version strings differ between machines. Never linked to: before glibc 2.34 these
 * functions are in a library of their own under other versions, and a file that names the new
 * versions does not load there.
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

/* The loaded object that contains an address; NULL if none. Keeps dlerror(). */
struct link_map *libc_map_of(const void *address);

int libc_dlinfo(void *handle, int request, void *arg);

/* A handle for a loaded object, by opening it once more: the loader prepares an object for lookups
 * only when it is opened, and otherwise follows a null pointer. Never closed. */
void *libc_handle(const struct link_map *map);

/* A handle in which lookups of our APIs' names fail, with the loader's own message. */
void *libc_barren_handle(void);

/*
 * The program's pending dlerror(), which any use of the loader clears. Saving takes it. Restoring
 * causes the same error again, if that is possible (a file that could not be opened), since the C
 * library has no call to set it.
 */
struct libc_error {
        char file[256]; /* "" if no error was pending, or none that can be caused again */
};
void libc_error_save(struct libc_error *ret);
void libc_error_restore(const struct libc_error *saved);

#endif
