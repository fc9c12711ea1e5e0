/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies our own library among the loaded objects: for the doors (a call from it is exempt),
 * for the search for the real library (never our own), and for code that checks whether ours is
 * loaded.
 */
#ifndef ALIQUOT_INTERPOSE_SELF_H
#define ALIQUOT_INTERPOSE_SELF_H

#include <link.h>
#include <stdbool.h>

/* Exported by every library of ours: the mark that identifies one on disk. */
extern const char aliquot_is_us[];
#define SELF_MARK "aliquot_is_us"

/* The first bytes of our library: its ELF header. */
const void *self_header(void);

/* Whether an address lies in our library. */
bool self_contains(const void *address);

/* Our entry in the loader's list. */
struct link_map *self_map(void);

/* The loader's name for our library: dlopen() of it opens no file. */
const char *self_name(void);

/* The absolute path of our file, also if preloaded by a relative one; false if unknown. */
bool self_path(char *ret, unsigned bytes);

#endif
