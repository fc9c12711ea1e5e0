/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision of each door: where to jump, and with which arguments. The doors have no state of
 * their own; they use the tables, the open libraries and the loader's list.
 */
#include "interpose/doors.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/libc.h"
#include "interpose/library.h"
#include "interpose/object.h"
#include "interpose/order.h"
#include "interpose/self.h"

static uintptr_t as_argument(const void *pointer)
{
        return (uintptr_t)pointer;
}

/* Returns the path of our file, for a linker namespace in which our library is not loaded yet. */
static const char *path_of_us(void)
{
        static char path[PATH_MAX];
        static _Atomic bool is_known;
        char found[PATH_MAX];

        if (load_acquire(&is_known))
                return path;
        if (!self_path(found, sizeof(found)))
                return self_name();
        /* several threads may do this at once: they write the same bytes */
        memcpy(path, found, strlen(found) + 1);
        store_release(&is_known, true);
        return path;
}

/* Returns the API of the library to which the symbolic link `path` leads; NULL: none, or no link.
 * For a file that is no link, this costs one system call. */
static const struct api *api_of_link(const char *path)
{
        char target[PATH_MAX];

        if (syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof(target)) < 0 ||
            !realpath(path, target))
                return NULL;
        return api_of_file(target);
}

/* Returns the API of a library whose file was renamed, such as libcuda.so.580.65.06.bak: its name
 * contains the stem, and its SONAME is the API's. NULL: none. */
static const struct api *api_of_copy(const char *path)
{
        const char *base = strrchr(path, '/');

        for (const struct api *const *api = api_list; *api; api++)
                if (strstr(base, (*api)->stem) && elf_file_is_named(path, (*api)->soname))
                        return *api;
        return NULL;
}

/* Returns the API whose library a program opens with this file name; NULL: none. */
static const struct api *api_meant(const char *file)
{
        const struct api *api = file ? api_of_file(file) : NULL;
        int saved = errno;

        if (api || !file || !strchr(file, '/'))
                return api;
        api = api_of_link(file);
        if (!api)
                api = api_of_copy(file);
        errno = saved;
        return api;
}

/* A dlopen() or dlmopen() of an API's library. */
struct opening {
        const struct api *api;
        const char *file; /* file name as the program passed it */
        int mode;
        const void *caller;
};

/* Returns the file name to open instead of o->file; NULL: no library of this API was found. */
static const char *name_to_open(const struct opening *o)
{
        struct search_hint hint = { .file = o->file, .caller = o->caller };
        const struct library *l;

        /* RTLD_NOLOAD opens only a library that is loaded already. The real one counts as loaded if
         * it was opened before, or if a loaded object needs it. Otherwise its path is returned, and
         * the loader finds it not loaded. */
        if ((o->mode & RTLD_NOLOAD) && !library_get(o->api) && !order_is_needed(o->api->soname))
                return library_locate(o->api, &hint);
        l = library_open(o->api, &hint);
        if (!l)
                /* it cannot be loaded: the loader reports why */
                return library_locate(o->api, &hint);
        return library_containing(o->caller) ? l->path : self_name();
}

/* Returns the file name to open in another linker namespace. The copy of our library in that
 * namespace opens the driver, so the driver is not opened here: two loaded drivers may exceed the
 * loader's static thread-local storage. */
static const char *name_to_open_elsewhere(const struct opening *o)
{
        struct search_hint hint = { .file = o->file, .caller = o->caller };
        const char *path = library_locate(o->api, &hint);

        return path && !library_containing(o->caller) ? path_of_us() : path;
}

void *door_dlopen(struct door_call *call)
{
        const char *file = (const char *)call->argument[0];
        struct opening o = { .api = api_meant(file),
                             .file = file,
                             .mode = (int)call->argument[1],
                             .caller = call->caller };
        const char *name;

        if (!o.api || self_contains(call->caller))
                return libc_function(LIBC_DLOPEN);
        name = name_to_open(&o);
        if (name) {
                call->argument[0] = as_argument(name);
                return libc_function(LIBC_DLOPEN);
        }
        if (strchr(file, '/'))
                return libc_function(LIBC_DLOPEN);
        /*
         * There is no driver. If the loader looked for the SONAME in this namespace, it would find
         * our library. In a new namespace it finds nothing, reports that in its usual words, and
         * removes the namespace. RTLD_NOLOAD keeps it from loading a library that our search did
         * not accept.
         */
        call->argument[0] = (uintptr_t)LM_ID_NEWLM;
        call->argument[1] = as_argument(file);
        call->argument[2] = (uintptr_t)((o.mode & ~RTLD_GLOBAL) | RTLD_NOLOAD);
        return libc_function(LIBC_DLMOPEN);
}

void *door_dlmopen(struct door_call *call)
{
        const char *file = (const char *)call->argument[1];
        struct opening o = { .api = api_meant(file),
                             .file = file,
                             .mode = (int)call->argument[2],
                             .caller = call->caller };
        bool is_base = (Lmid_t)call->argument[0] == LM_ID_BASE;
        const char *name;

        if (o.api && !self_contains(call->caller)) {
                name = is_base ? name_to_open(&o) : name_to_open_elsewhere(&o);
                if (name)
                        call->argument[1] = as_argument(name);
                else if (is_base && !strchr(file, '/')) {
                        /* a new namespace, for the reason in door_dlopen() */
                        call->argument[0] = (uintptr_t)LM_ID_NEWLM;
                        call->argument[2] = (uintptr_t)(o.mode | RTLD_NOLOAD);
                }
        }
        return libc_function(LIBC_DLMOPEN);
}

/* A dlsym() or dlvsym() of a symbol with an API's prefix. */
struct lookup {
        const struct api *api;
        const char *symbol;
        int entry; /* number of the symbol in the API's table, or API_NO_ENTRY */
        const void *caller;
};

/* Whether the real library defines the symbol; opens it only if the table has the symbol. */
static bool is_in_driver(const struct lookup *l)
{
        const struct library *library = library_get(l->api);

        if (l->entry != API_NO_ENTRY)
                return library_has(l->api, (unsigned)l->entry);
        /* A prefix alone is no reason to open the driver: "cublasCreate" begins like a driver
         * function too. */
        return library && elf_defines(&library->elf, l->symbol);
}

static bool is_ours_to_answer(const struct lookup *l)
{
        return l->entry != API_NO_ENTRY && entry_class(l->api, (unsigned)l->entry) != ENTRY_PASS;
}

/* Returns the handle for a lookup in our library's handle: ours for a function that we hook, the
 * real library's for any other. Without a driver the lookup must fail. */
static const void *handle_for_ours(const struct lookup *l, const void *ours)
{
        const struct library *library = library_open(l->api, NULL);

        if (!library)
                return libc_barren_handle();
        return is_ours_to_answer(l) && is_in_driver(l) ? ours : library->map;
}

/* Returns the handle for a lookup with RTLD_DEFAULT. */
static const void *handle_for_default(const struct lookup *l)
{
        struct order order;

        if (l->entry != API_NO_ENTRY && is_in_driver(l))
                return RTLD_DEFAULT; /* finds our library, or an object before it in the list */
        order_of(l->symbol, l->caller, &order);
        if (order.first)
                return l->entry == API_NO_ENTRY ? RTLD_DEFAULT : libc_handle(order.first);
        if (l->entry == API_NO_ENTRY)
                return is_in_driver(l) ? (void *)library_get(l->api)->map : RTLD_DEFAULT;
        /* only our library defines the symbol and the driver lacks it: the lookup must fail */
        return libc_barren_handle();
}

/* Returns the handle for a lookup with RTLD_NEXT. */
static const void *handle_for_next(const struct lookup *l)
{
        bool is_there = is_in_driver(l);
        struct order order;

        order_of(l->symbol, l->caller, &order);
        if (l->entry == API_NO_ENTRY)
                return is_there && !order.next ? (void *)library_get(l->api)->map : RTLD_NEXT;
        if (order.is_caller_before_us && !is_there)
                return order.next ? libc_handle(order.next) : libc_barren_handle();
        if (order.is_caller_before_us || order.next || !is_there)
                return RTLD_NEXT;
        /* The caller is behind our library in the list, and no other object behind it defines the
         * symbol. Without us it would find the driver. */
        return handle_for_ours(l, libc_handle(self_map()));
}

static void lookup(struct door_call *call)
{
        const char *symbol = (const char *)call->argument[1];
        const void *handle = (const void *)call->argument[0];
        struct lookup l = { .symbol = symbol, .caller = call->caller };

        l.api = symbol ? api_of_prefix(symbol) : NULL;
        if (!l.api || self_contains(call->caller) || library_containing(call->caller))
                return;
        l.entry = api_find(l.api, symbol);
        if (handle == self_map())
                handle = handle_for_ours(&l, handle);
        else if (handle == RTLD_NEXT)
                handle = handle_for_next(&l);
        else if (handle == RTLD_DEFAULT)
                handle = handle_for_default(&l);
        call->argument[0] = as_argument(handle);
}

void *door_dlsym(struct door_call *call)
{
        lookup(call);
        return libc_function(LIBC_DLSYM);
}

void *door_dlvsym(struct door_call *call)
{
        lookup(call);
        return libc_function(LIBC_DLVSYM);
}
