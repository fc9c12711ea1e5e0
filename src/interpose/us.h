/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loaded object is this one: asked by the doors (a call that comes from us is exempt), by the
 * search for the real library (never ourselves), and by whoever looks whether we are there.
 */
#ifndef ALIQUOT_INTERPOSE_US_H
#define ALIQUOT_INTERPOSE_US_H

#include <link.h>
#include <stdbool.h>

/* Exported by every library of ours, and the mark by which one is known on disk. */
extern const char aliquot_is_us[];
#define US_MARK "aliquot_is_us"

/* Our own first bytes: the ELF header. */
const void *us_header(void);

/* Whether an address lies in us. */
bool us_contains(const void *address);

/* Our own entry in the loader's list. */
struct link_map *us_map(void);

/* The name by which the loader knows us: dlopen() of it finds us with no file opened. */
const char *us_name(void);

/* Our file's absolute path, also if we were preloaded by a relative one; false if unknown. */
bool us_path(char *ret, unsigned bytes);

#endif
