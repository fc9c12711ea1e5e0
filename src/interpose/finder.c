/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search has one function per place. Each returns true when it has found the library and
 * written its path.
 */
#include "interpose/finder.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/environment.h"
#include "common/injected.h"
#include "common/scoped.h"
#include "interpose/cache.h"
#include "interpose/libc.h"
#include "interpose/object.h"
#include "interpose/self.h"

/* room for the search path of an object, which dlinfo() returns */
#define FOLDERS_BYTES (64u << 10)
#define FOLDERS_MAX 256u

/* Folders in which drivers have been found although neither the cache nor a search path named
 * them. */
static const char *const usual_folders[] = {
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib/x86_64-linux-gnu/nvidia/current",
        "/usr/lib/aarch64-linux-gnu/nvidia/current",
        "/usr/local/nvidia/lib64",
        "/usr/local/nvidia/lib",
        "/usr/lib/wsl/lib",
        "/run/opengl-driver/lib",
        NULL,
};

struct search {
        const struct api *api;
        char *path; /* where to write the path; PATH_MAX bytes */
};

static bool is_driver(const char *path)
{
        return elf_file_kind(path, SELF_MARK) == ELF_FILE_LIBRARY;
}

/* Writes the path to s.path, made absolute: a folder may be relative (LD_LIBRARY_PATH=.). Symbolic
 * links stay, since their names have the wanted version. */
static bool make_absolute(struct search s, const char *path)
{
        char folder[PATH_MAX];

        if (path[0] == '/')
                return snprintf(s.path, PATH_MAX, "%s", path) < PATH_MAX;
        return getcwd(folder, sizeof(folder)) &&
               snprintf(s.path, PATH_MAX, "%s/%s", folder, path) < PATH_MAX;
}

/* Finds the newest driver, such as libcuda.so.N.N.N, in a folder whose libcuda.so.1 is our
 * library. */
static bool search_beside_us(struct search s, const char *folder)
{
        scoped_dir DIR *dir = opendir(folder);
        char best[NAME_MAX + 1] = "";
        char path[PATH_MAX];

        for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
                if (api_of_file(d->d_name) != s.api || strverscmp(d->d_name, best) <= 0)
                        continue;
                if (snprintf(path, sizeof(path), "%s/%s", folder, d->d_name) < (int)sizeof(path) &&
                    is_driver(path))
                        snprintf(best, sizeof(best), "%s", d->d_name);
        }
        return best[0] && snprintf(path, sizeof(path), "%s/%s", folder, best) < (int)sizeof(path) &&
               make_absolute(s, path);
}

/* Checks one file. `path` contains a slash. */
static bool search_file(struct search s, const char *path)
{
        char folder[PATH_MAX];

        switch (elf_file_kind(path, SELF_MARK)) {
        case ELF_FILE_LIBRARY:
                return make_absolute(s, path);
        case ELF_FILE_DEFINES:
                snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') + 1 - path),
                         path);
                return search_beside_us(s, folder);
        default:
                return false;
        }
}

static bool search_folder(struct search s, const char *folder)
{
        char path[PATH_MAX];

        return snprintf(path, sizeof(path), "%s/%s", folder, s.api->soname) < (int)sizeof(path) &&
               search_file(s, path);
}

static bool is_listed(char *const *folder, unsigned count, const char *name)
{
        for (unsigned i = 0; i < count; i++)
                if (strcmp(folder[i], name) == 0)
                        return true;
        return false;
}

/*
 * Returns how many folders of a search path precede the loader's default folders. dlinfo() lists
 * the defaults last, but the loader reads its cache before them. A default folder begins with a
 * system prefix, and occurs once in the tail of the list.
 */
static unsigned count_before_defaults(char *const *folder, unsigned count)
{
        unsigned before = count;

        while (before > 0 &&
               (strncmp(folder[before - 1], "/lib", 4) == 0 ||
                strncmp(folder[before - 1], "/usr/lib", 8) == 0) &&
               !is_listed(folder + before, count - before, folder[before - 1]))
                before--;
        return before;
}

static bool search_cache(struct search s)
{
        return cache_find(s.api->soname, is_driver, s.path);
}

/* Searches as the loader would for the object `map`: its search path, as the loader computed it,
 * with the cache before the default folders. */
static bool search_as_loader(struct search s, struct link_map *map)
{
        union {
                Dl_serinfo info;
                char bytes[FOLDERS_BYTES];
        } *list = mmap(NULL, sizeof(*list), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
        char *folder[FOLDERS_MAX];
        unsigned count = 0;
        bool is_found = false;

        if (list == MAP_FAILED)
                return search_cache(s);
        if (map && libc_dlinfo(map, RTLD_DI_SERINFOSIZE, &list->info) == 0 &&
            list->info.dls_size <= sizeof(*list) && list->info.dls_cnt <= FOLDERS_MAX &&
            libc_dlinfo(map, RTLD_DI_SERINFO, &list->info) == 0)
                for (; count < list->info.dls_cnt; count++)
                        folder[count] = list->info.dls_serpath[count].dls_name;

        unsigned defaults = count_before_defaults(folder, count);

        for (unsigned i = 0; i < defaults && !is_found; i++)
                is_found = search_folder(s, folder[i]);
        if (!is_found)
                is_found = search_cache(s);
        for (unsigned i = defaults; i < count && !is_found; i++)
                is_found = search_folder(s, folder[i]);
        munmap(list, sizeof(*list));
        return is_found;
}

/* Checks for the file that a container was given. It comes first, since any other file with the
 * library's name may be our facade. */
static bool search_injected(struct search s)
{
        char path[PATH_MAX];

        return snprintf(path, sizeof(path), INJECTED_DRIVER "/%s" INJECTED_REAL, s.api->soname) <
                       (int)sizeof(path) &&
               injected_has(path) && is_driver(path) && make_absolute(s, path);
}

bool search_library(const struct api *api, const struct search_hint *hint, char *ret_path)
{
        struct search s = { .api = api, .path = ret_path };
        const char *named = environment_get(api->variable);
        struct link_map *caller = hint ? libc_map_of(hint->caller) : NULL;

        if (search_injected(s))
                return true;
        if (named && named[0])
                return is_driver(named) && make_absolute(s, named);
        if (hint && hint->file && strchr(hint->file, '/') && search_file(s, hint->file))
                return true;
        if (search_as_loader(s, caller ? caller : self_map()))
                return true;
        for (const char *const *folder = usual_folders; *folder; folder++)
                if (search_folder(s, *folder))
                        return true;
        return false;
}
