/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses are looked up once and kept; two threads that race find the same.
 */
#include "interpose/libc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "common/atomic.h"
#include "interpose/object.h"

static const char *const function_names[LIBC_FUNCTIONS] = {
        [LIBC_DLOPEN] = "dlopen",
        [LIBC_DLMOPEN] = "dlmopen",
        [LIBC_DLSYM] = "dlsym",
        [LIBC_DLVSYM] = "dlvsym",
};

/* Since glibc 2.34 all is in the first; before, the second had it. */
static const char *const homes[] = { "libc.so.6", "libdl.so.2" };

void *libc_function(enum libc_function which)
{
        static void *_Atomic known[LIBC_FUNCTIONS];
        void *address = load_relaxed(&known[which]);
        struct elf elf;

        for (size_t i = 0; !address && i < sizeof(homes) / sizeof(homes[0]); i++)
                if (elf_find_loaded(homes[i], &elf))
                        address = elf_symbol(&elf, function_names[which]);
        store_relaxed(&known[which], address);
        return address;
}

struct link_map *libc_dlopen(const char *path, int mode)
{
        void *(*open)(const char *, int) = libc_function(LIBC_DLOPEN);

        return open ? open(path, mode) : NULL;
}

void *libc_handle(const struct link_map *map)
{
        return libc_dlopen(map->l_name[0] ? map->l_name : NULL, RTLD_LAZY | RTLD_NOLOAD);
}

void *libc_barren_handle(void)
{
        static void *_Atomic known;
        void *handle = load_relaxed(&known);
        struct link_map *map = NULL;
        Dl_info info;

        if (!handle &&
            dladdr1(libc_function(LIBC_DLSYM), &info, (void **)&map, RTLD_DL_LINKMAP) != 0)
                handle = libc_handle(map);
        store_relaxed(&known, handle);
        return handle;
}

#define NOT_OPENED ": cannot open shared object file: No such file or directory"

void libc_error_save(struct libc_error *ret)
{
        const char *text = dlerror();
        const char *end = text ? strstr(text, NOT_OPENED) : NULL;
        size_t length = end ? (size_t)(end - text) : 0;

        if (length >= sizeof(ret->file))
                length = 0;
        if (length)
                memcpy(ret->file, text, length);
        ret->file[length] = '\0';
}

void libc_error_restore(const struct libc_error *saved)
{
        if (saved->file[0])
                libc_dlopen(saved->file, RTLD_LAZY);
        else
                dlerror();
}
