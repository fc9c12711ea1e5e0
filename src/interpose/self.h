/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies our own library among the loaded objects. The doors use it to let calls from our
 * library through, the search for the real library to skip ours, and other code to check whether
 * ours is loaded.
 */
#ifndef ALIQUOT_INTERPOSE_SELF_H
#define ALIQUOT_INTERPOSE_SELF_H

#include <link.h>
#include <stdbool.h>

/* Exported by all our libraries: a file that exports the symbol is ours. */
extern const char aliquot_is_us[];
#define SELF_MARK "aliquot_is_us"

/* Returns the address of our library's ELF header, its first bytes. */
const void *self_header(void);

/* Whether `address` is inside our library. */
bool self_contains(const void *address);

/* Returns our library's entry in the loader's list. */
struct link_map *self_map(void);

/* Returns the loader's name for our library. dlopen() of this name returns the loaded library
 * without opening a file. */
const char *self_name(void);

/* Writes the absolute path of our library's file, even if it was preloaded by a relative path.
 * False: unknown, or it does not fit. */
bool self_path(char *ret, unsigned bytes);

#endif
