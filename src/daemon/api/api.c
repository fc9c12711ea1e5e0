/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/api/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "daemon/api/api_parts.h"
#include "daemon/base/json_memory.h"

struct route {
        const char *method;
        const char *pattern; /* {} stands for one segment: any text without a slash */
        enum api_class class;
        api_handler *handler;
        bool is_open; /* needs no token, even if one is required */
};

static const struct route routes[] = {
        { "GET", "/v1", API_META, api_get_root, false },
        { "GET", "/healthz", API_META, api_get_health, true },
        { "GET", "/readyz", API_META, api_get_ready, true },
        { "GET", "/openapi.json", API_META, api_get_openapi, true },
        { "GET", "/metrics", API_METRICS, api_get_metrics, false },
        { "GET", "/v1/devices", API_DEVICES, api_get_devices, false },
        { "GET", "/v1/devices/{}", API_DEVICES, api_get_device, false },
        { "GET", "/v1/events", API_EVENTS, api_get_events, false },
        { "GET", "/v1/policy", API_META, api_get_policy, false },
        { "POST", "/v1/policy/check", API_META, api_post_policy_check, false },
        { "GET", "/v1/profiles", API_PROFILES, api_get_profiles, false },
        { "POST", "/v1/profiles", API_PROFILES, api_post_profile, false },
        { "DELETE", "/v1/profiles/{}", API_PROFILES, api_delete_profile, false },
        { "GET", "/v1/processes", API_DEVICES, api_get_all_processes, false },
        { "GET", "/v1/sessions", API_SESSIONS, api_get_sessions, false },
        { "POST", "/v1/sessions", API_SESSIONS, api_post_session, false },
        { "GET", "/v1/sessions/{}", API_SESSIONS, api_get_session, false },
        { "PATCH", "/v1/sessions/{}", API_SESSIONS, api_patch_session, false },
        { "DELETE", "/v1/sessions/{}", API_SESSIONS, api_delete_session, false },
        { "POST", "/v1/sessions/{}/renew", API_SESSIONS, api_post_renew, false },
        { "GET", "/v1/sessions/{}/processes", API_SESSIONS, api_get_processes, false },
        { "GET", "/v1/swap", API_SESSIONS, api_get_swap, false },
        { "PATCH", "/v1/swap", API_SESSIONS, api_patch_swap, false },
};
#define ROUTES (sizeof(routes) / sizeof(routes[0]))

static const char *const class_names[] = {
        [API_META] = "meta",     [API_DEVICES] = "devices",   [API_SESSIONS] = "sessions",
        [API_EVENTS] = "events", [API_PROFILES] = "profiles", [API_METRICS] = "metrics",
        [API_NONE] = "none",
};

/* -- Problems and queries --------------------------------------------------------------------- */

void api_refuse(struct api_call *call, unsigned status, const char *type, const char *field,
                const char *format, ...)
{
        char detail[512];
        va_list args;

        va_start(args, format);
        vsnprintf(detail, sizeof(detail), format, args);
        va_end(args);
        http_problem(call->exchange, status, type,
                     field ? json_pack("{s:s}", "field", field) : NULL, "%s", detail);
}

void api_query_begin(struct api_call *call, struct api_query *ret)
{
        *ret = (struct api_query){ .rest = call->exchange->request->query };
}

bool api_query_next(struct api_call *call, struct api_query *query)
{
        char *name, *value;

        if (query->has_failed || !request_next_pair(&query->rest, &name, &value))
                return false;
        query->name = name;
        query->value = value;
        if (name)
                return true;
        query->has_failed = true;
        api_refuse(call, 400, "bad-field", "query", "a parameter is not URL-encoded UTF-8");
        return false;
}

void api_query_refuse(struct api_call *call, struct api_query *query, const char *expected)
{
        query->has_failed = true;
        api_refuse(call, 400, "bad-field", query->name, "%s=%s: expected %s", query->name,
                   query->value, expected);
}

bool api_has_no_query(struct api_call *call)
{
        struct api_query query;

        api_query_begin(call, &query);
        if (api_query_next(call, &query))
                api_query_refuse(call, &query, "no parameter of this name");
        return !query.has_failed;
}

bool api_whole(const char *text, uint64_t most, uint64_t *ret)
{
        uint64_t value = 0;

        if (!*text || strlen(text) > 19)
                return false;
        for (; *text; text++) {
                if (!text_is_digit(*text))
                        return false;
                value = value * 10 + (uint64_t)(*text - '0');
        }
        if (value > most)
                return false;
        *ret = value;
        return true;
}

bool api_may_see(const struct api_call *call, const struct sessions_one *session)
{
        return call->caller.sees_all || session->owner_uid == call->caller.uid;
}

const struct sessions_one *api_find(struct api_call *call)
{
        const struct sessions_one *session =
                sessions_find(node_sessions(call->api->options.node), call->name);

        if (session && api_may_see(call, session))
                return session;
        api_refuse(call, 404, "unknown-session", "name", "there is no session %s", call->name);
        return NULL;
}

/* -- Callers ---------------------------------------------------------------------------------- */

static bool has_token(const struct http_api *api, const char *said)
{
        const struct token *token = api->options.token;

        return strncasecmp(said, "Bearer ", 7) == 0 && token->length &&
               token_is(token, said + 7, strlen(said + 7));
}

static void refuse_token(struct api_call *call, const char *why)
{
        http_header(call->exchange, "WWW-Authenticate", "Bearer realm=\"aliquot\"");
        api_refuse(call, 401, "unauthorized", "Authorization", "%s", why);
}

static void know_local(struct api_call *call)
{
        const struct http_peer *peer = call->exchange->peer;
        struct api_caller *caller = &call->caller;

        caller->uid = peer->uid;
        caller->is_admin = peer->is_owner;
        caller->sees_all = caller->is_admin;
        caller->may_change = true;
        snprintf(caller->who, sizeof(caller->who), "uid %u pid %d", peer->uid, peer->pid);
}

/* Identifies a client over TCP. False: it was refused. A wrong token is refused even if none is
 * needed. */
static bool know_remote(struct api_call *call, bool is_open)
{
        const struct http_api *api = call->api;
        const char *said = request_header(call->exchange->request, "Authorization");
        const char *host = request_header(call->exchange->request, "Host");
        struct api_caller *caller = &call->caller;

        /* With DNS rebinding, a web page of another site reaches this server through the browser,
         * under the host name of that site. */
        if (host && !request_is_local_host(host)) {
                api_refuse(call, 421, "wrong-host", "Host",
                           "%s is no number and not localhost: say the address", host);
                return false;
        }
        caller->sees_all = true;
        caller->is_admin = caller->may_change = said && has_token(api, said);
        /* The token gives the rights of the daemon's user; (uid_t)-1 is no user. */
        caller->uid = caller->is_admin ? geteuid() : UINT32_MAX;
        snprintf(caller->who, sizeof(caller->who), "%s", caller->is_admin ? "token" : "tcp");
        if (said && !caller->is_admin) {
                refuse_token(call, "this is not the token");
                return false;
        }
        if (!is_open && !said && api->options.config->is_token_required) {
                refuse_token(call, "nothing can be read over TCP without the token");
                return false;
        }
        return true;
}

static bool may_change(struct api_call *call)
{
        if (call->caller.may_change)
                return true;
        if (call->api->options.token->length)
                refuse_token(call, "changes over TCP need the token");
        else
                api_refuse(call, 403, "forbidden", NULL,
                           "nothing can be changed over TCP: http.token_file is not set; use the "
                           "socket");
        return false;
}

/* -- Routing ---------------------------------------------------------------------------------- */

/* Whether the path matches the pattern. *ret_name is the part of `path` at {}. */
static bool matches(const char *pattern, const char *path, const char **ret_name, size_t *ret_bytes)
{
        while (*pattern) {
                size_t bytes;

                if (strncmp(pattern, "{}", 2) != 0) {
                        if (*pattern++ != *path++)
                                return false;
                        continue;
                }
                bytes = strcspn(path, "/");
                if (!bytes)
                        return false;
                *ret_name = path;
                *ret_bytes = bytes;
                path += bytes;
                pattern += 2;
        }
        return !*path;
}

static const struct route *find_route(struct api_call *call, const char **ret_name,
                                      size_t *ret_bytes, bool *ret_is_path)
{
        const struct request *request = call->exchange->request;
        const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
        char allowed[64] = "";
        struct text text;

        text_begin(&text, allowed, sizeof(allowed));
        *ret_is_path = false;
        for (unsigned i = 0; i < ROUTES; i++) {
                if (!matches(routes[i].pattern, request->path, ret_name, ret_bytes))
                        continue;
                if (strcmp(routes[i].method, method) == 0)
                        return &routes[i];
                text_add(&text, "%s%s", *ret_is_path ? ", " : "",
                         strcmp(routes[i].method, "GET") == 0 ? "GET, HEAD" : routes[i].method);
                *ret_is_path = true;
        }
        if (*ret_is_path)
                http_header(call->exchange, "Allow", "%s", allowed);
        return NULL;
}

static void refuse_route(struct api_call *call, bool is_path)
{
        const struct request *request = call->exchange->request;

        if (is_path)
                api_refuse(call, 405, "method-not-allowed", NULL, "%s is not done to %s",
                           request->method, request->path);
        else
                api_refuse(call, 404, "unknown-path", NULL, "there is nothing at %s",
                           request->path);
}

/* Copies the name in the path to `room`, and decodes it there. */
static bool take_name(struct api_call *call, const char *name, size_t bytes, char *room,
                      size_t room_bytes)
{
        call->name = room;
        if (bytes < room_bytes) {
                memcpy(room, name, bytes);
                room[bytes] = '\0';
                if (request_decode(room, false))
                        return true;
        }
        refuse_route(call, false);
        return false;
}

void api_handle(struct http_exchange *exchange, void *context)
{
        struct api_call call = { .api = context, .exchange = exchange };
        const char *name = "";
        char room[128];
        size_t bytes = 0;
        bool is_path;
        const struct route *route = find_route(&call, &name, &bytes, &is_path);

        json_memory_begin();
        if (route)
                exchange->route = class_names[route->class];
        if (exchange->peer->is_local)
                know_local(&call);
        else if (!know_remote(&call, route && route->is_open))
                return;
        if (!route) {
                refuse_route(&call, is_path);
                return;
        }
        if (!take_name(&call, name, bytes, room, sizeof(room)))
                return;
        if (strcmp(route->method, "GET") != 0 && !may_change(&call))
                return;
        route->handler(&call);
}

void api_done(struct http_exchange *exchange, void *context)
{
        struct http_api *api = context;
        unsigned class = API_NONE;

        for (unsigned i = 0; i < API_CLASSES; i++) {
                if (strcmp(class_names[i], exchange->route) == 0)
                        class = i;
        }
        if (exchange->status < API_STATUSES)
                api->answers[class][exchange->status]++;
}

/* -- Start and stop --------------------------------------------------------------------------- */

int api_start(struct http_api **ret, const struct api_options *options, struct error *err)
{
        struct http_api *api = calloc(1, sizeof(*api));

        if (!api)
                return fail(err, -ENOMEM, "out of memory");
        api->options = *options;
        api->started_ns = node_now_ns();
        api->subscribers = api_subscribers_new(api);
        api->texts = api_texts_new();
        api->uses = api_uses_new();
        if (!api->subscribers || !api->texts || !api->uses) {
                api_stop(api);
                return fail(err, -ENOMEM, "out of memory");
        }
        *ret = api;
        return 0;
}

void api_set_http(struct http_api *api, const struct http *http)
{
        api->http = http;
}

void api_stop(struct http_api *api)
{
        if (!api)
                return;
        api_subscribers_free(api->subscribers);
        api_texts_free(api->texts);
        api_uses_free(api->uses);
        free(api);
}
