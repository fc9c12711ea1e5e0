/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client_policy.h"

#include "cli/client_parts.h"
#include "common/text.h"

static void report_bound(const struct client_bounds *bounds, const char *key, const char *most,
                         const char *rule)
{
        struct client_bound bound;

        text_quote(key, bound.key, sizeof(bound.key));
        text_quote(most, bound.most, sizeof(bound.most));
        text_quote(rule, bound.rule, sizeof(bound.rule));
        bounds->each(&bound, bounds->context);
}

int client_rules(const struct store *store, const struct client_bounds *bounds, struct error *err)
{
        scoped_call struct call call = { .store = store, .method = "GET" };
        int rc = client_start_call(&call, err, "/v1/policy");
        json_t *rule, *most;
        const char *key;
        size_t at;

        if (rc == 0)
                rc = client_perform(&call, err);
        if (rc < 0)
                return rc;
        json_array_foreach(json_object_get(call.answer, "rules"), at, rule)
        {
                json_object_foreach(json_object_get(rule, "most"), key, most)
                {
                        report_bound(bounds, key,
                                     json_is_string(most) ? json_string_value(most) : "",
                                     client_text(rule, "rule"));
                }
        }
        return 0;
}

static json_t *body_of(const struct client_subject *subject, const struct client_wish *wish)
{
        json_t *body = client_object(), *groups = json_array();

        for (unsigned i = 0; i < subject->group_count; i++)
                json_array_append_new(groups, json_integer(subject->group[i]));
        json_object_set_new(body, "user", json_integer(subject->uid));
        json_object_set_new(body, "groups", groups);
        if (subject->profile)
                json_object_set_new(body, "profile", json_string(subject->profile));
        if (wish)
                json_object_set_new(body, "session", client_wish_body(NULL, wish));
        return body;
}

int client_check(const struct store *store, const struct client_subject *subject,
                 const struct client_wish *wish, const struct client_bounds *bounds,
                 struct error *err)
{
        scoped_call struct call call = { .store = store,
                                         .method = "POST",
                                         .body = body_of(subject, wish) };
        json_t *bound;
        size_t at;
        int rc;

        client_start_call(&call, NULL, "/v1/policy/check");
        rc = client_perform(&call, err);
        if (rc < 0)
                return rc;
        json_array_foreach(json_object_get(call.answer, "may"), at, bound)
        {
                report_bound(bounds, client_text(bound, "key"), client_text(bound, "most"),
                             client_text(bound, "rule"));
        }
        return 0;
}
