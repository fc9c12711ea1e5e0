/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the addresses once and stores them. Threads that race find the same addresses.
 */
#include "interpose/libc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "common/atomic.h"
#include "interpose/object.h"

static const char *const function_names[LIBC_FUNCTIONS] = {
        [LIBC_DLOPEN] = "dlopen",   [LIBC_DLMOPEN] = "dlmopen", [LIBC_DLSYM] = "dlsym",
        [LIBC_DLVSYM] = "dlvsym",   [LIBC_DLADDR1] = "dladdr1", [LIBC_DLCLOSE] = "dlclose",
        [LIBC_DLERROR] = "dlerror", [LIBC_DLINFO] = "dlinfo",
};

/* Since glibc 2.34 LIBC has all the functions; before, LIBDL has them, which may not be loaded. */
#define LIBC "libc.so.6"
#define LIBDL "libdl.so.2"

/* The flag with which the parts of glibc before 2.34 loaded each other. */
#define OPENED_BY_LIBC 0x80000000u

static void load_libdl(void)
{
        void *(*open)(const char *, unsigned) = NULL;
        struct elf elf = { 0 };

        if (elf_find_loaded(LIBC, &elf))
                open = elf_symbol(&elf, "__libc_dlopen_mode");
        if (open)
                open(LIBDL, RTLD_NOW | OPENED_BY_LIBC);
}

static void *find_function(const char *name)
{
        void *address = NULL;
        struct elf elf = { 0 };

        if (elf_find_loaded(LIBC, &elf))
                address = elf_symbol(&elf, name);
        if (!address && elf_find_loaded(LIBDL, &elf))
                address = elf_symbol(&elf, name);
        return address;
}

void *libc_function(enum libc_function which)
{
        static void *_Atomic known[LIBC_FUNCTIONS];
        void *address = load_relaxed(&known[which]);

        if (address)
                return address;
        address = find_function(function_names[which]);
        if (!address) {
                load_libdl();
                address = find_function(function_names[which]);
        }
        store_relaxed(&known[which], address);
        return address;
}

struct link_map *libc_dlopen(const char *path, int mode)
{
        void *(*open)(const char *, int) = libc_function(LIBC_DLOPEN);

        return open ? open(path, mode) : NULL;
}

struct link_map *libc_map_of(const void *address)
{
        int (*find)(const void *, Dl_info *, void **, int) = libc_function(LIBC_DLADDR1);
        struct link_map *map = NULL;
        Dl_info info;

        if (!address || !find || find(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
                return NULL;
        return map;
}

int libc_dlinfo(void *handle, int request, void *arg)
{
        int (*inform)(void *, int, void *) = libc_function(LIBC_DLINFO);

        return inform ? inform(handle, request, arg) : -1;
}

static const char *libc_dlerror(void)
{
        const char *(*say)(void) = libc_function(LIBC_DLERROR);

        return say ? say() : NULL;
}

void *libc_handle(const struct link_map *map)
{
        return libc_dlopen(map->l_name[0] ? map->l_name : NULL, RTLD_LAZY | RTLD_NOLOAD);
}

void *libc_barren_handle(void)
{
        static void *_Atomic known;
        void *handle = load_relaxed(&known);
        const struct link_map *map = handle ? NULL : libc_map_of(libc_function(LIBC_DLSYM));

        if (map)
                handle = libc_handle(map);
        store_relaxed(&known, handle);
        return handle;
}

#define NOT_OPENED ": cannot open shared object file: No such file or directory"

void libc_error_save(struct libc_error *ret)
{
        const char *text = libc_dlerror();
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
                libc_dlerror();
}
