/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader's cache, /etc/ld.so.cache: where the system says a library is.
 *
 * glibc's current format ("glibc-ld.so.cache1.1", alone or behind the older table). The file is
 * written by ldconfig, but may be cut short or foreign: every offset is checked, and a cache that
 * makes no sense is an empty one.
 */
#ifndef ALIQUOT_INTERPOSE_CACHE_H
#define ALIQUOT_INTERPOSE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Fills the first path listed for a SONAME that `accept` likes, at most PATH_MAX bytes. */
bool cache_find(const char *soname, bool (*accept)(const char *path), char *ret_path);

/* As cache_find(), in a cache that is in memory already; for tests. */
bool cache_find_in(const void *bytes, size_t size, const char *soname,
                   bool (*accept)(const char *path), char *ret_path);

#endif
