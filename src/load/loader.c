/* SPDX-License-Identifier: Apache-2.0 */
#include "load/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "common/clock.h"

#define LIBRARY "libcuda.so.1"

static void *library;

static int bind(const struct loader_row *row, struct error *err)
{
        void *found = dlsym(library, row->name);

        if (!found)
                return fail(err, -ENOENT, LIBRARY " has no %s", row->name);
        memcpy(row->slot, &found, sizeof(found));
        return 0;
}

/* A lookup in the handle of our library would fail for such a symbol. So it is looked up in the
 * object that defines cuDriverGetVersion, which none of our libraries hooks: the driver. */
void *loader_find(const char *symbol)
{
        void *function = dlsym(library, "cuDriverGetVersion");
        struct link_map *map = NULL;
        Dl_info info;

        if (!function || !dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
                return NULL;
        return dlsym(map, symbol);
}

int loader_open(const struct loader_row *row, size_t count, struct error *err)
{
        time_authority_find *find;
        int rc = 0;

        library = dlopen(LIBRARY, RTLD_NOW);
        if (!library)
                return fail(err, -ENOENT, "%s", dlerror());
        for (size_t i = 0; rc == 0 && i < count; i++)
                rc = bind(&row[i], err);
        find = (time_authority_find *)loader_find(TIME_AUTHORITY_SYMBOL);
        if (find)
                clock_follow(find(TIME_AUTHORITY_VERSION));
        return rc;
}
