/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int library_load(const struct installation *own, struct own_library *ret, struct error *err)
{
        void *handle = dlopen(own->library, RTLD_NOW | RTLD_LOCAL);
        struct own_library library = { 0 };

        if (!handle)
                return fail(err, -ELIBACC, "our library does not load: %s", dlerror());
        library.apis = dlsym(handle, "aliquot_doctor_apis");
        library.api = dlsym(handle, "aliquot_doctor_api");
        library.row = dlsym(handle, "aliquot_doctor_row");
        library.door = dlsym(handle, "aliquot_doctor_door");
        library.unknown = dlsym(handle, "aliquot_doctor_unknown");
        if (!library.apis || !library.api || !library.row || !library.door || !library.unknown)
                return fail(err, -ELIBBAD, "%s is of another version; install it again",
                            own->library);
        *ret = library;
        return 0;
}

bool library_api(const struct own_library *library, const char *name, struct doctor_api *ret)
{
        for (unsigned i = 0; library->api(i, ret); i++) {
                if (strcmp(ret->name, name) == 0)
                        return true;
        }
        return false;
}

int library_cards(const struct own_library *library, struct cards *ret, struct error *err)
{
        struct doctor_api api;
        int rc;

        if (!library_api(library, "nvml", &api) || !api.library[0])
                return fail(err, -ENOENT,
                            "no NVIDIA driver here (libnvidia-ml.so.1 was not found); install it, "
                            "name it in ALIQUOT_REAL_LIBNVML, or use --sim");
        rc = cards_start(api.handle, api.library, err);
        if (rc < 0)
                return rc;
        rc = cards_list(ret, err);
        /* `run` continues to run while its program does, and must not keep the device open. */
        cards_stop();
        return rc;
}
