/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the loader's cache, /etc/ld.so.cache, which maps SONAMEs to paths.
 *
 * It reads glibc's current format ("glibc-ld.so.cache1.1", alone or behind a table of the older
 * format). ldconfig writes the file, but the file may be truncated or in another format. So every
 * offset is checked, and an invalid cache counts as empty.
 */
#ifndef ALIQUOT_INTERPOSE_CACHE_H
#define ALIQUOT_INTERPOSE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the first path of `soname` for which `accept` returns true to `ret_path` (PATH_MAX bytes).
 * False: there is none. */
bool cache_find(const char *soname, bool (*accept)(const char *path), char *ret_path);

/* As cache_find(), for a cache in memory; for tests. */
bool cache_find_in(const void *bytes, size_t size, const char *soname,
                   bool (*accept)(const char *path), char *ret_path);

#endif
