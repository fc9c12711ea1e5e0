/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds of our library come from symbols of the linker, its entry in the loader's list from
 * dladdr1(), which keeps dlerror(). Both work before any constructor has run.
 */
#include "interpose/self.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/atomic.h"
#include "common/scoped.h"
#include "interpose/libc.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* Defined by the linker: the first byte of the library, and the end of its last segment. */
extern const char __ehdr_start[] HIDDEN;
extern const char _end[] HIDDEN;

__attribute__((visibility("default"))) const char aliquot_is_us[] = "aliquot";

const void *self_header(void)
{
        return __ehdr_start;
}

bool self_contains(const void *address)
{
        return (uintptr_t)address >= (uintptr_t)__ehdr_start &&
               (uintptr_t)address < (uintptr_t)_end;
}

struct link_map *self_map(void)
{
        static struct link_map *_Atomic known;
        struct link_map *map = load_relaxed(&known);

        if (!map)
                store_relaxed(&known, map = libc_map_of(aliquot_is_us));
        return map;
}

const char *self_name(void)
{
        struct link_map *map = self_map();

        return map && map->l_name ? map->l_name : "";
}

bool self_path(char *ret, unsigned bytes)
{
        scoped_file FILE *maps = NULL;
        scoped_free char *line = NULL;
        size_t room = 0;

        if (self_name()[0] == '/')
                return snprintf(ret, bytes, "%s", self_name()) < (int)bytes;
        maps = fopen("/proc/self/maps", "re");
        /* Reads whole lines: in a part of a long line, another file's path could look like the line
         * that we search. */
        while (maps && getline(&line, &room, maps) > 0) {
                uintptr_t low = 0, high = 0;
                char *path = strchr(line, '/');

                if (sscanf(line, "%lx-%lx", &low, &high) != 2 || !path ||
                    (uintptr_t)aliquot_is_us < low || (uintptr_t)aliquot_is_us >= high)
                        continue;
                path[strcspn(path, "\n")] = '\0';
                return snprintf(ret, bytes, "%s", path) < (int)bytes;
        }
        return false;
}
