/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and publishes real libraries without a lock of ours; publishing is one compare-and-swap.
 * The slots are bound before the struct library is published. So a thread that sees the struct sees
 * bound slots, and a thread that does not see it binds the same values again.
 */
#include "interpose/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "interpose/bind.h"
#include "interpose/libc.h"

/* The address range of a loaded object. */
struct extent {
        uintptr_t base;
        uintptr_t low, high;
};

static int find_extent(struct dl_phdr_info *info, size_t size, void *arg)
{
        struct extent *extent = arg;

        if (info->dlpi_addr != extent->base)
                return 0;
        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *p = &info->dlpi_phdr[i];

                if (p->p_type != PT_LOAD)
                        continue;
                if (info->dlpi_addr + p->p_vaddr < extent->low)
                        extent->low = info->dlpi_addr + p->p_vaddr;
                if (info->dlpi_addr + p->p_vaddr + p->p_memsz > extent->high)
                        extent->high = info->dlpi_addr + p->p_vaddr + p->p_memsz;
        }
        return 1;
}

/* Stores the address of each function in its slot. */
static void bind_slots(const struct api *api, const struct elf *elf)
{
        const struct api_table *t = api->table;

        for (unsigned i = 0; i < t->entry_count; i++) {
                void *address = elf_symbol(elf, entry_name(api, i));

                if (!address)
                        address = (void *)(uintptr_t)api->no_function;
                store_plain_release(&t->slot[i], address);
        }
}

/* Publishes the opened library, unless another thread did so first; returns the published one. It
 * is never freed, since a thread may be reading it at any time. */
static const struct library *publish(const struct api *api, struct link_map *map, const char *path)
{
        struct extent extent = { .base = map->l_addr, .low = UINTPTR_MAX };
        const struct library *expected = NULL;
        struct library *l =
                mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (l == MAP_FAILED)
                return NULL;
        if (!elf_read(map->l_addr, map->l_ld, &l->elf)) {
                munmap(l, sizeof(*l));
                return NULL;
        }
        dl_iterate_phdr(find_extent, &extent);
        l->map = map;
        l->low = extent.low;
        l->high = extent.high;
        memcpy(l->path, path, strlen(path) + 1);
        if (api->opened)
                api->opened(&l->elf);
        bind_slots(api, &l->elf);
        if (cas_acq_rel(api->library, &expected, l))
                return l;
        munmap(l, sizeof(*l));
        return expected;
}

const struct library *library_open(const struct api *api, const struct search_hint *hint)
{
        const struct library *l = library_get(api);
        int saved_errno = errno;
        char path[PATH_MAX];
        struct libc_error saved;

        if (l)
                return l;
        libc_error_save(&saved);
        if (search_library(api, hint, path)) {
                struct link_map *map = libc_dlopen(path, RTLD_NOW | RTLD_LOCAL | api->open_flags);

                if (map)
                        l = publish(api, map, path);
        }
        libc_error_restore(&saved);
        errno = saved_errno;
        return l;
}

/* Returns a copy of `path` that is never freed. The last copy is reused, so that equal results take
 * memory once. */
static const char *keep_path(const char *path)
{
        static const char *_Atomic last;
        const char *kept = load_acquire(&last);
        size_t bytes = strlen(path) + 1;
        char *copy;

        if (kept && strcmp(kept, path) == 0)
                return kept;
        copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (copy == MAP_FAILED)
                return NULL;
        memcpy(copy, path, bytes);
        store_release(&last, copy);
        return copy;
}

const char *library_locate(const struct api *api, const struct search_hint *hint)
{
        const struct library *l = library_get(api);
        int saved_errno = errno;
        char path[PATH_MAX];
        const char *kept;

        if (l)
                return l->path;
        kept = search_library(api, hint, path) ? keep_path(path) : NULL;
        errno = saved_errno;
        return kept;
}

bool library_has(const struct api *api, unsigned entry)
{
        const struct library *l = library_open(api, NULL);

        return l && api->table->slot[entry] != (void *)(uintptr_t)api->no_function;
}

const struct api *library_containing(const void *address)
{
        for (const struct api *const *api = api_list; *api; api++) {
                const struct library *l = library_get(*api);

                if (l && (uintptr_t)address >= l->low && (uintptr_t)address < l->high)
                        return *api;
        }
        return NULL;
}

/* Returns the API of an entry that is numbered over all APIs, and the entry's number in that
 * API's table. */
static const struct api *api_of_number(unsigned number, unsigned *ret_entry)
{
        for (const struct api *const *api = api_list; *api; api++) {
                const struct api_table *t = (*api)->table;
                unsigned first = (unsigned)((t->thunk - thunk_first) / THUNK_BYTES);

                if (number < first || number >= first + t->entry_count)
                        continue;
                *ret_entry = number - first;
                return *api;
        }
        /* thunks and tables are from the same run of gen-api, so a number always has a table */
        __builtin_unreachable();
}

void *bind_entry(unsigned number)
{
        unsigned entry;
        const struct api *api = api_of_number(number, &entry);
        const struct library *l = library_open(api, NULL);
        void *address = l ? elf_symbol(&l->elf, entry_name(api, entry)) : NULL;

        if (address)
                return address;
        return (void *)(uintptr_t)(l ? api->no_function : api->no_library);
}
