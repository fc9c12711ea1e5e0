/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the loader's cache, /etc/ld.so.cache, which maps SONAMEs to paths.
 *
 * glibc's current format ("glibc-ld.so.cache1.1", alone or behind the older table). ldconfig writes
 * the file, but it may be truncated or of another format: every offset is checked, and an invalid
 * cache counts as empty.
 */
#ifndef ALIQUOT_INTERPOSE_CACHE_H
#define ALIQUOT_INTERPOSE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Fills the first path listed for a SONAME that `accept` accepts, at most PATH_MAX bytes. */
bool cache_find(const char *soname, bool (*accept)(const char *path), char *ret_path);

/* As cache_find(), for a cache in memory; for tests. */
bool cache_find_in(const void *bytes, size_t size, const char *soname,
                   bool (*accept)(const char *path), char *ret_path);

#endif
