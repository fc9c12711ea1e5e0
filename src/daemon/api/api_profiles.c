/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists, adds and removes profiles: the shares that containers can get, each through its door. All
 * clients that may read see them; only administrators add and remove them.
 */
#include <errno.h>
#include <string.h>

#include "common/text.h"
#include "common/uuid.h"
#include "daemon/api/api_parts.h"

/* -- Listing ---------------------------------------------------------------------------------- */

/* Adds the profile's GPU, if it is present. */
static void add_gpu(const struct http_api *api, const struct profile *profile, json_t *view)
{
        const struct cards *cards = &node_cards(api->options.node)->cards;
        struct settings_gpus gpus;
        char uuid[UUID_TEXT_BYTES];
        int at;

        cards_as_gpus(cards, &gpus);
        at = profile_gpu(profile, &gpus, NULL);
        json_object_set_new(view, "gpu",
                            at < 0 ? json_null() : json_integer(cards->card[at].index));
        json_object_set_new(view, "uuid",
                            at < 0 ? json_null()
                                   : json_string(uuid_format(cards->card[at].uuid,
                                                             cards->card[at].is_instance, uuid)));
}

static json_t *view_profile(const struct http_api *api, const struct tenants_profile *of)
{
        static const char *const priorities[] = { "batch", "normal", "rt" };
        const struct profile *profile = of->profile;
        char door[STORE_PATH_BYTES + sizeof(profile->name) + sizeof("/doors//socket")];
        json_t *view = json_object();

        snprintf(door, sizeof(door), "%s/doors/%s/socket", node_store(api->options.node)->path,
                 profile->name);
        json_object_set_new(view, "name", json_string(profile->name));
        add_gpu(api, profile, view);
        json_object_set_new(view, "memory_bytes", json_integer((json_int_t)profile->memory_bytes));
        json_object_set_new(view, "compute", json_real(profile->compute_milli_percent / 1000.0));
        json_object_set_new(view, "priority", json_string(priorities[profile->priority % 3]));
        json_object_set_new(view, "door", json_string(door));
        json_object_set_new(view, "from", json_string(of->is_of_config ? "config" : "api"));
        json_object_set_new(view, "sessions", json_integer(of->sessions));
        return view;
}

/* A list of profiles, kept sorted by name. */
struct profile_listing {
        const struct http_api *api;
        json_t *list;
};

static void add_sorted(const struct tenants_profile *profile, void *context)
{
        struct profile_listing *listing = context;
        size_t at = 0;

        while (at < json_array_size(listing->list) &&
               strcmp(json_string_value(json_object_get(json_array_get(listing->list, at), "name")),
                      profile->profile->name) < 0)
                at++;
        json_array_insert_new(listing->list, at, view_profile(listing->api, profile));
}

void api_get_profiles(struct api_call *call)
{
        struct profile_listing listing = { .api = call->api };

        if (!api_has_no_query(call))
                return;
        listing.list = json_array();
        tenants_profiles(call->api->options.tenants, NULL, add_sorted, &listing);
        http_reply_json(call->exchange, 200, json_pack("{s:o}", "profiles", listing.list));
}

/* -- Changes ---------------------------------------------------------------------------------- */

static bool is_for_admins(struct api_call *call)
{
        if (call->caller.is_admin)
                return true;
        api_refuse(call, 403, "forbidden", NULL,
                   "profiles are added and dropped by administrators");
        return false;
}

/* Reads the field `name`. NULL: the request was refused. */
static const char *read_name(struct api_call *call, json_t *body)
{
        const char *field;
        json_t *value;

        json_object_foreach(body, field, value)
        {
                if (strcmp(field, "name") == 0 && json_is_string(value))
                        continue;
                if (strcmp(field, "name") == 0)
                        api_refuse(call, 400, "bad-field", field,
                                   "name: expected " PROFILE_EXPECTED);
                else
                        api_refuse(call, 400, "unknown-field", field, "there is no field %s",
                                   field);
                return NULL;
        }
        value = json_object_get(body, "name");
        if (!value)
                api_refuse(call, 400, "bad-field", "name", "name: expected " PROFILE_EXPECTED);
        return json_string_value(value);
}

static void refuse_profile(struct api_call *call, int rc, const struct error *err)
{
        if (rc == -EINVAL)
                api_refuse(call, 400, "bad-field", "name", "%s", err->text);
        else if (rc == -ENOENT)
                api_refuse(call, 404, "unknown-profile", "name", "%s", err->text);
        else if (rc == -EEXIST)
                api_refuse(call, 409, "of-config", "name", "%s", err->text);
        else if (rc == -ENOSPC)
                api_refuse(call, 409, "full", NULL, "%s", err->text);
        else
                api_refuse(call, 503, "unavailable", NULL, "%s", err->text);
}

static void add_profile(struct api_call *call, const char *name)
{
        struct profile_listing listing = { .api = call->api };
        struct error err = { 0 };
        int rc = tenants_add_profile(call->api->options.tenants, name, &err);

        if (rc < 0) {
                refuse_profile(call, rc, &err);
                return;
        }
        listing.list = json_array();
        tenants_profiles(call->api->options.tenants, name, add_sorted, &listing);
        if (rc == 1)
                http_header(call->exchange, "Location", "/v1/profiles/%s", name);
        http_reply_json(call->exchange, rc == 1 ? 201 : 200,
                        json_incref(json_array_get(listing.list, 0)));
        json_decref(listing.list);
}

void api_post_profile(struct api_call *call)
{
        json_t *body;
        const char *name;

        if (!is_for_admins(call) || !api_has_no_query(call))
                return;
        body = api_body(call, false);
        name = body ? read_name(call, body) : NULL;
        if (name)
                add_profile(call, name);
        json_decref(body);
}

void api_delete_profile(struct api_call *call)
{
        struct error err = { 0 };
        int rc;

        if (!is_for_admins(call) || !api_has_no_query(call))
                return;
        rc = tenants_drop_profile(call->api->options.tenants, call->name, &err);
        if (rc < 0)
                refuse_profile(call, rc, &err);
        else
                http_reply(call->exchange, 204, NULL, "", 0);
}
