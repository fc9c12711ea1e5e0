/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int library_load(const struct place *place, struct library *ret, struct error *err)
{
        void *handle = dlopen(place->library, RTLD_NOW | RTLD_LOCAL);
        struct library library = { 0 };

        if (!handle)
                return fail(err, -ELIBACC, "our library does not load: %s", dlerror());
        library.apis = dlsym(handle, "aliquot_doctor_apis");
        library.api = dlsym(handle, "aliquot_doctor_api");
        library.row = dlsym(handle, "aliquot_doctor_row");
        library.door = dlsym(handle, "aliquot_doctor_door");
        library.unknown = dlsym(handle, "aliquot_doctor_unknown");
        if (!library.apis || !library.api || !library.row || !library.door || !library.unknown)
                return fail(err, -ELIBBAD, "%s is of another version; install it again",
                            place->library);
        *ret = library;
        return 0;
}

bool library_api(const struct library *library, const char *name, struct doctor_api *ret)
{
        for (unsigned i = 0; library->api(i, ret); i++) {
                if (strcmp(ret->name, name) == 0)
                        return true;
        }
        return false;
}
