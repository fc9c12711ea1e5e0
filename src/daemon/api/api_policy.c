/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the rules of the policy and what they allow a user, and reports refusals because of
 * rules.
 *
 * A check whether a session would be accepted uses the function of the core that a creation uses,
 * and gives the same refusal.
 */
#include <string.h>
#include <unistd.h>

#include "common/minmax.h"
#include "common/text.h"
#include "common/units.h"
#include "daemon/api/api_parts.h"
#include "daemon/config/config_policy.h"

#define GROUPS_MAX 65536u

/* -- Refusals --------------------------------------------------------------------------------- */

static const struct policy *rules_of(const struct http_api *api)
{
        return &node_sessions(api->options.node)->rules;
}

/* Lists the rules in a set, such as "[policy group a], [policy group b]". */
static void name_rules(const struct http_api *api, uint64_t rules, char *ret, size_t bytes)
{
        const struct policy *policy = rules_of(api);
        char section[CONFIG_POLICY_NAME_BYTES];
        struct text text;

        text_begin(&text, ret, bytes);
        for (unsigned i = 0; i < policy->count; i++) {
                if (rules & UINT64_C(1) << i)
                        text_add(&text, "%s[%s]", text.used ? ", " : "",
                                 config_policy_section(&policy->rule[i], section));
        }
}

/* Lists the GPUs in a set, which has a bit for each GPU by its index in the core. */
static void name_gpus(const struct http_api *api, uint64_t set, char *ret, size_t bytes)
{
        const struct sessions *all = node_sessions(api->options.node);
        char uuid[UUID_TEXT_BYTES];
        struct text text;

        text_begin(&text, ret, bytes);
        for (unsigned i = 0; i < all->gpu_count; i++) {
                if (set & UINT64_C(1) << i)
                        text_add(&text, "%s%s", text.used ? ", " : "",
                                 api_uuid(api, all->gpu[i].uuid, uuid));
        }
        if (!text.used)
                text_add(&text, "none");
}

static const char *exact(const struct http_api *api, enum policy_key key, uint64_t amount,
                         char ret[CONFIG_POLICY_TEXT_BYTES])
{
        if (key != POLICY_GPUS || amount == POLICY_ANY)
                return config_policy_amount(key, amount, ret);
        name_gpus(api, amount, ret, CONFIG_POLICY_TEXT_BYTES);
        return ret;
}

/* Formats an amount for messages: sizes are rounded, with a space before the unit. */
static const char *readable(const struct http_api *api, enum policy_key key, uint64_t amount,
                            char ret[CONFIG_POLICY_TEXT_BYTES])
{
        if (amount != POLICY_ANY && (key == POLICY_MEMORY || key == POLICY_MEMORY_IN_ALL))
                return size_format(amount, ret);
        if (amount == POLICY_ANY && key == POLICY_TTL)
                return "no end";
        return exact(api, key, amount, ret);
}

void api_refuse_ruled(struct api_call *call, const struct sessions_actions *actions)
{
        const struct sessions_excess *excess = &actions->excess;
        const char *name = policy_key_name(excess->key);
        char rules[512], most[CONFIG_POLICY_TEXT_BYTES], asked[CONFIG_POLICY_TEXT_BYTES];
        char exact_max[CONFIG_POLICY_TEXT_BYTES], exact_asked[CONFIG_POLICY_TEXT_BYTES];
        bool is_sum = excess->key == POLICY_MEMORY_IN_ALL ||
                      excess->key == POLICY_GUARANTEE_IN_ALL || excess->key == POLICY_SESSIONS;

        name_rules(call->api, excess->rules, rules, sizeof(rules));
        http_problem(call->exchange, 403, "policy",
                     json_pack("{s:s, s:s, s:s, s:s, s:s}", "field", actions->field, "key", name,
                               "rule", rules, "most",
                               exact(call->api, excess->key, excess->most, exact_max), "asked",
                               exact(call->api, excess->key, excess->asked, exact_asked)),
                     "%s: %s %s, at most %s by %s", name,
                     readable(call->api, excess->key, excess->asked, asked),
                     is_sum ? "for all sessions of this user" : "asked for",
                     readable(call->api, excess->key, excess->most, most), rules);
}

/* -- Rules ------------------------------------------------------------------------------------ */

static json_t *view_rule(const struct policy_rule *rule)
{
        char section[CONFIG_POLICY_NAME_BYTES], value[CONFIG_POLICY_TEXT_BYTES];
        char name[CONFIG_POLICY_NAME_BYTES + 2];
        json_t *most = json_object();
        bool has_id = rule->kind == POLICY_USER || rule->kind == POLICY_GROUP;

        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                const struct config_policy_key *key = &config_policy_keys[i];

                if (rule->said & UINT32_C(1) << key->key)
                        json_object_set_new(most, policy_key_name(key->key),
                                            json_string(config_policy_format(key, rule, value)));
        }
        snprintf(name, sizeof(name), "[%s]", config_policy_section(rule, section));
        return json_pack("{s:s, s:o, s:o}", "rule", name, "id",
                         has_id ? json_integer(rule->id) : json_null(), "most", most);
}

void api_get_policy(struct api_call *call)
{
        const struct policy *policy = rules_of(call->api);
        json_t *list;

        if (!api_has_no_query(call))
                return;
        list = json_array();
        for (unsigned i = 0; i < policy->count; i++)
                json_array_append_new(list, view_rule(&policy->rule[i]));
        http_reply_json(call->exchange, 200, json_pack("{s:o}", "rules", list));
}

/* -- Checking a request ----------------------------------------------------------------------- */

/* The user about whom a check asks. */
struct subject {
        uint32_t uid;
        bool is_admin;
        const uint32_t *group;
        unsigned group_count;
        const char *profile;
};

static bool refuse_groups(struct api_call *call)
{
        api_refuse(call, 400, "bad-field", "groups", "groups: expected numbers of groups");
        return false;
}

static bool read_groups(struct api_call *call, const json_t *list, struct subject *ret)
{
        static uint32_t groups[GROUPS_MAX];

        if (!list)
                return true;
        if (!json_is_array(list) || json_array_size(list) > GROUPS_MAX)
                return refuse_groups(call);
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *group = json_array_get(list, i);
                json_int_t number = json_integer_value(group);

                if (!json_is_integer(group) || number < 0 || number >= UINT32_MAX)
                        return refuse_groups(call);
                groups[i] = (uint32_t)number;
        }
        ret->group = groups;
        ret->group_count = (unsigned)json_array_size(list);
        return true;
}

static bool read_user(struct api_call *call, const json_t *user, struct subject *ret)
{
        json_int_t number = user ? json_integer_value(user) : call->caller.uid;

        if (user && (!json_is_integer(user) || number < 0 || number >= UINT32_MAX)) {
                api_refuse(call, 400, "bad-field", "user", "user: expected the number of a user");
                return false;
        }
        ret->uid = (uint32_t)number;
        ret->is_admin = ret->uid == 0 || ret->uid == geteuid();
        if (ret->uid == call->caller.uid || call->caller.is_admin)
                return true;
        api_refuse(call, 403, "forbidden", "user",
                   "user: what another user has is for administrators to ask");
        return false;
}

/* Reads the user of a check. If clients ask about themselves, their groups are those that the
 * kernel reports. */
static bool read_subject(struct api_call *call, const json_t *body, struct subject *ret)
{
        static const char *const known[] = { "user", "groups", "profile", "session" };
        const json_t *profile = json_object_get(body, "profile");
        json_t *value;
        const char *name;

        json_object_foreach((json_t *)(uintptr_t)body, name, value)
        {
                unsigned i = 0;

                while (i < 4 && strcmp(known[i], name) != 0)
                        i++;
                if (i == 4) {
                        api_refuse(call, 400, "unknown-field", name, "there is no field %s", name);
                        return false;
                }
        }
        if (profile && !json_is_string(profile)) {
                api_refuse(call, 400, "bad-field", "profile", "profile: expected a text");
                return false;
        }
        ret->profile = json_string_value(profile);
        if (!read_user(call, json_object_get(body, "user"), ret))
                return false;
        if (call->caller.is_admin)
                return read_groups(call, json_object_get(body, "groups"), ret);
        ret->group = http_groups(call->exchange, &ret->group_count);
        return true;
}

/* Finds the limit of a key that no rule sets, if a key of [admission] limits it. */
static void usual_bound(const struct http_api *api, enum policy_key key, const char **ret_name,
                        uint64_t *ret_max)
{
        const struct sessions_policy *policy = &node_sessions(api->options.node)->policy;

        if (key == POLICY_SESSIONS && policy->owner_max)
                *ret_max = policy->owner_max;
        else if (key == POLICY_TTL && policy->ttl_max_ns)
                *ret_max = policy->ttl_max_ns;
        else
                return;
        *ret_name = config_policy_of(key)->instead;
}

static json_t *view_grant(const struct http_api *api, const struct subject *subject,
                          const struct policy_grant *grant)
{
        json_t *list = json_array();
        char rules[512], most[CONFIG_POLICY_TEXT_BYTES];
        bool is_above = subject->is_admin && !subject->profile;

        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                enum policy_key key = config_policy_keys[i].key;
                uint64_t bound = grant->most[key];
                const char *rule = NULL;

                name_rules(api, grant->rules[key], rules, sizeof(rules));
                if (grant->rules[key])
                        rule = rules;
                else if (!is_above || key == POLICY_TTL)
                        usual_bound(api, key, &rule, &bound);
                json_array_append_new(list, json_pack("{s:s, s:s, s:s?}", "key",
                                                      policy_key_name(key), "most",
                                                      exact(api, key, bound, most), "rule", rule));
        }
        return list;
}

/* Checks whether the session would be accepted. False: the refusal that a creation would get was
 * sent. */
static bool try(struct api_call *call, const struct subject *subject, json_t *session)
{
        struct sessions_one one;
        struct sessions_event event = { .type = SESSIONS_CREATE,
                                        .session = &one,
                                        .uid = subject->uid,
                                        .is_admin = subject->is_admin,
                                        .group = subject->group,
                                        .group_count = subject->group_count,
                                        .profile = subject->profile };
        struct sessions_actions actions;
        struct api_call as = *call;

        as.caller.uid = subject->uid;
        as.caller.is_admin = subject->is_admin;
        if (!json_is_object(session)) {
                api_refuse(call, 400, "bad-field", "session", "session: expected an object");
                return false;
        }
        if (!api_read_creation(&as, session, &one, &event))
                return false;
        node_try(call->api->options.node, &event, &actions);
        if (actions.answer != SESSIONS_YES)
                api_refuse_answer(&as, &event, &actions);
        return actions.answer == SESSIONS_YES;
}

void api_post_policy_check(struct api_call *call)
{
        struct subject subject = { 0 };
        struct policy_grant grant;
        json_t *body = api_has_no_query(call) ? api_body(call, true) : NULL;
        json_t *session = json_object_get(body, "session");
        struct sessions_event event = { 0 };

        if (!body)
                return;
        if (read_subject(call, body, &subject) && (!session || try(call, &subject, session))) {
                event.uid = subject.uid;
                event.is_admin = subject.is_admin;
                event.group = subject.group;
                event.group_count = subject.group_count;
                event.profile = subject.profile;
                sessions_grant(node_sessions(call->api->options.node), &event, &grant);
                http_reply_json(call->exchange, 200,
                                json_pack("{s:I, s:b, s:o}", "user", (json_int_t)subject.uid,
                                          "is_above", subject.is_admin && !subject.profile, "may",
                                          view_grant(call->api, &subject, &grant)));
        }
        json_decref(body);
}
