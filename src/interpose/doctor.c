/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the calls of `aliquot doctor` anew each time; they are too rare for a cache.
 */
#include "interpose/doctor.h"

#include <dlfcn.h>

#include "interpose/doors.h"
#include "interpose/libc.h"
#include "interpose/library.h"
#include "interpose/self.h"

#define EXPORTED __attribute__((visibility("default")))

static const char *const door_names[] = { "dlopen", "dlmopen", "dlsym", "dlvsym" };
#define DOORS (sizeof(door_names) / sizeof(door_names[0]))

static const char *const class_names[] = {
        [ENTRY_PASS] = "pass",
        [ENTRY_HOOK] = "hook",
};

EXPORTED unsigned aliquot_doctor_apis(void)
{
        unsigned count = 0;

        while (api_list[count])
                count++;
        return count;
}

struct unknown {
        const struct api *api;
        void (*each)(const char *name, void *arg);
        void *arg;
};

static bool visit_unknown(const char *name, void *arg)
{
        const struct unknown *u = arg;

        if (api_of_prefix(name) == u->api && api_find(u->api, name) == API_NO_ENTRY)
                u->each(name, u->arg);
        return true;
}

EXPORTED void aliquot_doctor_unknown(unsigned api, void (*each)(const char *name, void *arg),
                                     void *arg)
{
        const struct library *l = NULL;

        if (api < aliquot_doctor_apis())
                l = library_open(api_list[api], NULL);
        if (l)
                elf_each_function(
                        &l->elf, visit_unknown,
                        &(struct unknown){ .api = api_list[api], .each = each, .arg = arg });
}

static void count_name(const char *name, void *arg)
{
        ++*(unsigned *)arg;
}

EXPORTED bool aliquot_doctor_api(unsigned number, struct doctor_api *ret)
{
        const struct api *api;
        const struct library *l;
        const char *path;

        if (number >= aliquot_doctor_apis())
                return false;
        api = api_list[number];
        l = library_open(api, NULL);
        path = library_locate(api, NULL);
        *ret = (struct doctor_api){
                .name = api->name,
                .soname = api->soname,
                .variable = api->variable,
                .library = path ? path : "",
                .is_open = l != NULL,
                .handle = l ? l->map : NULL,
                .row_count = api->table->entry_count,
                .table_version = api->table->version,
        };
        for (unsigned i = 0; i < ret->row_count; i++)
                ret->missing_count += !library_has(api, i);
        aliquot_doctor_unknown(number, count_name, &ret->unknown_count);
        return true;
}

EXPORTED bool aliquot_doctor_row(unsigned api, unsigned row, struct doctor_row *ret)
{
        const struct api_table *t;

        if (api >= aliquot_doctor_apis() || row >= api_list[api]->table->entry_count)
                return false;
        t = api_list[api]->table;
        *ret = (struct doctor_row){
                .symbol = entry_name(api_list[api], row),
                .kind = class_names[entry_class(api_list[api], row)],
                .why = t->strings + t->entry[row].why,
                .since = t->entry[row].since,
                .is_in_library = library_has(api_list[api], row),
        };
        return true;
}

static const char *object_of(const void *address)
{
        const struct link_map *map = libc_map_of(address);

        return map ? map->l_name : "";
}

/*
 * Finds out which object the program gets from dlopen() of an API's SONAME. door_dlopen() is called
 * without a caller's address, as if by the program, since it does not change a call from our
 * library.
 */
static struct doctor_door library_door(const struct api *api)
{
        struct doctor_door door = { .name = api->soname, .object = "" };
        struct door_call call = { .argument = { (uintptr_t)api->soname, RTLD_LAZY } };
        void *(*find)(void *, const char *) = libc_function(LIBC_DLSYM);
        void *(*open)(uintptr_t, uintptr_t, uintptr_t) = libc_function(LIBC_DLOPEN);
        int (*close)(void *) = libc_function(LIBC_DLCLOSE);
        struct link_map *map;

        if (find && self_contains(find(RTLD_DEFAULT, "dlopen")))
                open = door_dlopen(&call);
        map = open ? open(call.argument[0], call.argument[1], call.argument[2]) : NULL;
        if (!map)
                return door;
        door.object = map->l_name;
        door.is_ours = map == self_map();
        close(map);
        return door;
}

EXPORTED bool aliquot_doctor_door(unsigned number, struct doctor_door *ret)
{
        void *(*find)(void *, const char *) = libc_function(LIBC_DLSYM);
        const void *address;

        if (number >= DOORS + aliquot_doctor_apis())
                return false;
        if (number >= DOORS) {
                *ret = library_door(api_list[number - DOORS]);
                return true;
        }
        address = find ? find(RTLD_DEFAULT, door_names[number]) : NULL;
        *ret = (struct doctor_door){
                .name = door_names[number],
                .object = object_of(address),
                .is_ours = self_contains(address),
        };
        return true;
}
