/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the C library's own dlopen family, which our doors replace.
 *
 * The functions are found by reading the symbols of the loaded C library. dlsym(RTLD_NEXT) would be
 * a call of our own door, and the version strings of these symbols differ between machines. Our
 * library does not link to the functions either: before glibc 2.34 they are in another library with
 * other versions, and a file that needs the new versions does not load there.
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

/* Returns the address of a function; NULL: this process's C library has none. */
void *libc_function(enum libc_function which);

/* Calls the C library's dlopen(). */
struct link_map *libc_dlopen(const char *path, int mode);

/* Returns the loaded object that contains `address`; NULL: none. Keeps dlerror(). */
struct link_map *libc_map_of(const void *address);

/* Calls the C library's dlinfo(); -1 if there is none. */
int libc_dlinfo(void *handle, int request, void *arg);

/* Returns a handle for a loaded object, which opens it once more: the loader prepares an object
 * for lookups only when it is opened, and without that follows a null pointer. The handle is
 * never closed. */
void *libc_handle(const struct link_map *map);

/* Returns a handle in which lookups of our APIs' names fail, so that the loader reports the failure
 * in its own words. */
void *libc_barren_handle(void);

/*
 * The program's pending dlerror(), which any use of the loader clears. The C library has no call to
 * set it. So libc_error_save() reads it, which also clears it, and libc_error_restore() causes the
 * same error again if that is possible (a file that could not be opened).
 */
struct libc_error {
        /* the file that could not be opened; "": no error was pending, or another one */
        char file[256];
};
void libc_error_save(struct libc_error *ret);
void libc_error_restore(const struct libc_error *saved);

#endif
