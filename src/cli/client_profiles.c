/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client_profiles.h"

#include <stdlib.h>

#include "cli/client_parts.h"
#include "common/scoped.h"
#include "common/text.h"

#define PERCENT_MAX 100.0

static void read_profile(const json_t *json, struct client_profile *ret)
{
        double percent = json_number_value(json_object_get(json, "compute"));

        *ret = (struct client_profile){ .gpu = (unsigned)client_whole(json, "gpu"),
                                        .memory_bytes = client_whole(json, "memory_bytes"),
                                        .sessions = (unsigned)client_whole(json, "sessions"),
                                        .cap_ppm = PAGE_WHOLE_PPM };
        if (percent > 0 && percent < PERCENT_MAX)
                ret->cap_ppm = (uint32_t)(percent * PAGE_WHOLE_PPM / PERCENT_MAX + 0.5);
        text_quote(client_text(json, "name"), ret->name, sizeof(ret->name));
        text_quote(client_text(json, "uuid"), ret->uuid, sizeof(ret->uuid));
        text_quote(client_text(json, "priority"), ret->priority, sizeof(ret->priority));
        text_quote(client_text(json, "from"), ret->from, sizeof(ret->from));
        text_put(ret->door, sizeof(ret->door), NULL, "%s", client_text(json, "door"));
}

int client_profiles(const struct store *store, struct client_profile **ret, size_t *ret_count,
                    struct error *err)
{
        scoped_call struct call call = { .store = store, .method = "GET" };
        struct client_profile *profiles;
        json_t *list, *one;
        size_t at;
        int rc = client_start_call(&call, err, "/v1/profiles");

        if (rc == 0)
                rc = client_perform(&call, err);
        if (rc < 0)
                return rc;
        list = json_object_get(call.answer, "profiles");
        profiles = calloc(json_array_size(list) + 1, sizeof(*profiles));
        if (!profiles)
                return fail(err, -ENOMEM, "out of memory");
        json_array_foreach(list, at, one)
        {
                read_profile(one, &profiles[at]);
        }
        *ret = profiles;
        *ret_count = json_array_size(list);
        return 0;
}

int client_profile_add(const struct store *store, const char *name, struct error *err)
{
        scoped_call struct call call = { .store = store,
                                         .method = "POST",
                                         .body = client_object() };
        int rc = client_start_call(&call, err, "/v1/profiles");

        json_object_set_new(call.body, "name", json_string(name));
        return rc < 0 ? rc : client_perform(&call, err);
}

int client_profile_remove(const struct store *store, const char *name, struct error *err)
{
        scoped_call struct call call = { .store = store, .method = "DELETE" };
        int rc = client_start_call(&call, err, "/v1/profiles/%s", name);

        return rc < 0 ? rc : client_perform(&call, err);
}
