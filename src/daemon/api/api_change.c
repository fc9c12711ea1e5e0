/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates, changes, renews and ends sessions, and reports the core's refusals.
 */
#include <errno.h>
#include <string.h>

#include "common/minmax.h"
#include "common/text.h"
#include "common/units.h"
#include "daemon/api/api_parts.h"

/* -- Refusals of the core --------------------------------------------------------------------- */

static json_t *view_rooms(const struct http_api *api)
{
        const struct cards *cards = &node_cards(api->options.node)->cards;
        const struct sessions *all = node_sessions(api->options.node);
        json_t *list = json_array();
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < cards->count; i++) {
                const struct card *card = &cards->card[i];
                uint64_t room = sessions_room(all, card->uuid);

                json_array_append_new(list,
                                      json_pack("{s:s, s:i, s:I}", "uuid",
                                                uuid_format(card->uuid, card->is_instance, uuid),
                                                "index", (int)card->index, "room_bytes",
                                                (json_int_t)min_u64(room, INT64_MAX)));
        }
        return list;
}

/* Whether the request asks for more GPUs than there are. For fewer, the refusal lists the room on
 * each. */
static bool is_too_many(const struct api_call *call, const struct sessions_event *event)
{
        return event->type == SESSIONS_CREATE && event->wish.is_chosen_here &&
               event->session->share_count > node_cards(call->api->options.node)->cards.count;
}

/* Refuses for lack of room. actions->gpu is zeroes if no GPU was named. */
static void refuse_room(struct api_call *call, const struct sessions_event *event,
                        const struct sessions_actions *actions)
{
        static const uint8_t nobody[16];
        bool is_named = memcmp(actions->gpu, nobody, sizeof(nobody)) != 0;
        bool is_many = actions->answer == SESSIONS_NO_GPU && is_too_many(call, event);
        char uuid[UUID_TEXT_BYTES], wanted[SIZE_TEXT_BYTES], room[SIZE_TEXT_BYTES], why[160];
        const char *trouble = node_cards(call->api->options.node)->trouble;

        if (is_named)
                api_uuid(call->api, actions->gpu, uuid);
        if (is_many)
                snprintf(why, sizeof(why), "%u GPUs asked for, %u here",
                         event->session->share_count,
                         node_cards(call->api->options.node)->cards.count);
        else
                snprintf(why, sizeof(why), "%s asked for, %s %s%s%s",
                         size_format(actions->wanted_bytes, wanted),
                         size_format(actions->free_bytes, room),
                         actions->answer == SESSIONS_NO_ROOM ? "free" : "at most",
                         is_named ? " on " : "", is_named ? uuid : "");
        http_problem(call->exchange, 409,
                     actions->answer == SESSIONS_NO_ROOM ? "no-room" : "no-gpu",
                     json_pack("{s:s, s:I, s:I, s:o, s:o}", "field", is_many ? "gpus" : "memory",
                               "free_bytes", (json_int_t)actions->free_bytes, "wanted_bytes",
                               (json_int_t)actions->wanted_bytes, "gpu",
                               is_named ? json_string(uuid) : json_null(), "devices",
                               view_rooms(call->api)),
                     "%s%s%s", why, trouble[0] ? "; " : "", trouble);
}

static void refuse_time(struct api_call *call, const struct sessions_actions *actions)
{
        char uuid[UUID_TEXT_BYTES];

        api_uuid(call->api, actions->gpu, uuid);
        http_problem(call->exchange, 409, "no-time",
                     json_pack("{s:s, s:f, s:s}", "field", "guarantee", "free_percent",
                               actions->free_milli_percent / 1000.0, "gpu", uuid),
                     "guarantee: %g %% of the time asked for, %g %% left on %s",
                     actions->wanted_milli_percent / 1000.0, actions->free_milli_percent / 1000.0,
                     uuid);
}

/* Refusals with a fixed text. */
static const struct refusal {
        enum sessions_answer answer;
        unsigned status;
        const char *type, *field, *detail;
} refusals[] = {
        { SESSIONS_EXISTS, 409, "exists", "name", "there is a session of this name" },
        { SESSIONS_STALE, 412, "stale", "If-Match", "it has been changed since; read it again" },
        { SESSIONS_BUSY, 409, "busy", NULL, "programs run in it; end them, or say force=true" },
        { SESSIONS_CLOSED, 409, "ending", NULL,
          "it is ending: force=true ends its programs at once" },
};

static const struct refusal *usual_refusal(enum sessions_answer answer)
{
        for (unsigned i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
                if (refusals[i].answer == answer)
                        return &refusals[i];
        }
        return NULL;
}

static void refuse_full(struct api_call *call, const char *field)
{
        if (field && strcmp(field, "owner") == 0)
                api_refuse(call, 409, "full", field,
                           "this user has as many sessions as one may have "
                           "(admission.sessions_per_owner); removed ones count while programs "
                           "have files of them open");
        else
                api_refuse(call, 409, "full", field,
                           "the node has no room for another session: of its %u places, the last "
                           "%u are kept for root and the daemon's own user",
                           SESSIONS_MAX, SESSIONS_KEPT);
}

static void refuse_ttl(struct api_call *call)
{
        const struct sessions *all = node_sessions(call->api->options.node);

        api_refuse(call, 400, "bad-field", "ttl",
                   "ttl: at most %g seconds may be asked for here (admission.ttl_most)",
                   (double)all->policy.ttl_max_ns / 1e9);
}

/* Refuses the value of `on_end`, which was valid in itself (api_body.c). */
static void refuse_ending(struct api_call *call)
{
        api_refuse(call, 400, "bad-field", "on_end",
                   "on_end: a TTL has a bound here (admission.ttl_most), so only an administrator "
                   "may ask for a milder end than admission.on_end");
}

/* Refuses a guarantee or cap, and names the field that the request changed. A session has one cap
 * and one guarantee for all its GPUs. */
static void refuse_guarantee(struct api_call *call, const struct sessions_event *event)
{
        const struct sessions_one *had =
                event->type == SESSIONS_CHANGE
                        ? sessions_find(node_sessions(call->api->options.node), call->name)
                        : NULL;
        const struct sessions_share *wanted = &event->session->share[0];
        double cap = wanted->compute_milli_percent / 1000.0;
        double guarantee = wanted->guarantee_milli_percent / 1000.0;

        if (had && had->share[0].guarantee_milli_percent == wanted->guarantee_milli_percent)
                api_refuse(call, 400, "bad-field", "compute",
                           "compute: %g %% is less than its guarantee, %g %%", cap, guarantee);
        else
                api_refuse(call, 400, "bad-field", "guarantee",
                           "guarantee: %g %% is more than its cap (compute), %g %%", guarantee,
                           cap);
}

static void refuse_field(struct api_call *call, const struct sessions_event *event,
                         const char *field)
{
        if (event->session && field && strcmp(field, "guarantee") == 0)
                refuse_guarantee(call, event);
        else if (field && strcmp(field, "on_end") == 0)
                refuse_ending(call);
        else
                api_refuse(call, 400, "bad-field", field ? field : "body",
                           "%s: not a value that makes sense here", field ? field : "body");
}

void api_refuse_answer(struct api_call *call, const struct sessions_event *event,
                       const struct sessions_actions *actions)
{
        const struct refusal *usual = usual_refusal(actions->answer);

        if (usual) {
                api_refuse(call, usual->status, usual->type, usual->field, "%s", usual->detail);
                return;
        }
        switch (actions->answer) {
        case SESSIONS_NO_ROOM:
        case SESSIONS_NO_GPU:
                refuse_room(call, event, actions);
                break;
        case SESSIONS_NO_TIME:
                refuse_time(call, actions);
                break;
        case SESSIONS_UNKNOWN:
                api_refuse(call, 404, "unknown-session", "name", "there is no session %s",
                           call->name);
                break;
        case SESSIONS_FULL:
                refuse_full(call, actions->field);
                break;
        case SESSIONS_TOO_LONG:
                refuse_ttl(call);
                break;
        case SESSIONS_RULED:
                api_refuse_ruled(call, actions);
                break;
        default:
                refuse_field(call, event, actions->field);
                break;
        }
}

/* -- Steps ------------------------------------------------------------------------------------ */

/* Gives the event to the core and carries out its actions. False: the request was refused. */
static bool apply_event(struct api_call *call, struct sessions_event *event,
                        struct sessions_actions *ret)
{
        struct error err = { 0 };
        int rc;

        event->uid = call->caller.uid;
        event->is_admin = call->caller.is_admin;
        if (call->exchange->peer->is_local)
                event->group = http_groups(call->exchange, &event->group_count);
        rc = node_step(call->api->options.node, event, call->caller.who, ret, &err);
        if (rc < 0)
                api_refuse(call, 503, "unavailable", NULL, "%s", err.text);
        else if (ret->answer != SESSIONS_YES)
                api_refuse_answer(call, event, ret);
        return rc == 0 && ret->answer == SESSIONS_YES;
}

static void reply_session(struct api_call *call, unsigned status, const char *name)
{
        const struct sessions_one *session =
                sessions_find(node_sessions(call->api->options.node), name);

        if (!session) {
                api_refuse(call, 503, "unavailable", NULL, "it ended meanwhile");
                return;
        }
        http_header(call->exchange, "ETag", "\"%llu\"", (unsigned long long)session->version);
        api_reply_session(call, status, session);
}

/* Reads If-Match: "7", or * for any version. *ret is 0 if there is none. */
static bool read_version(struct api_call *call, uint64_t *ret)
{
        const char *said = request_header(call->exchange->request, "If-Match");
        char digits[24];
        size_t length = said ? strlen(said) : 0;

        *ret = 0;
        if (!said || strcmp(said, "*") == 0)
                return true;
        if (length > 2 && length < sizeof(digits) && said[0] == '"' && said[length - 1] == '"') {
                memcpy(digits, said + 1, length - 2);
                digits[length - 2] = '\0';
                if (api_whole(digits, INT64_MAX, ret) && *ret)
                        return true;
        }
        api_refuse(call, 400, "bad-field", "If-Match",
                   "If-Match: expected an ETag of this session, such as \"3\"");
        return false;
}

void api_post_session(struct api_call *call)
{
        struct sessions_one one;
        struct sessions_event event = { .type = SESSIONS_CREATE, .session = &one };
        struct sessions_actions actions;
        json_t *body = api_has_no_query(call) ? api_body(call, false) : NULL;
        bool is_read = body && api_read_creation(call, body, &one, &event);

        json_decref(body);
        if (!is_read || !apply_event(call, &event, &actions))
                return;
        http_header(call->exchange, "Location", "/v1/sessions/%s", one.name);
        reply_session(call, 201, one.name);
}

void api_patch_session(struct api_call *call)
{
        const struct sessions_one *session = api_find(call);
        struct sessions_event event = { .type = SESSIONS_CHANGE, .name = call->name };
        struct sessions_actions actions;
        struct sessions_one one;
        json_t *body;
        bool is_read;

        if (!session || !api_has_no_query(call) || !read_version(call, &event.version))
                return;
        one = *session;
        event.session = &one;
        body = api_body(call, false);
        is_read = body && api_read_change(call, body, &one, &event);
        json_decref(body);
        if (is_read && apply_event(call, &event, &actions))
                reply_session(call, 200, call->name);
}

void api_post_renew(struct api_call *call)
{
        struct sessions_event event = { .type = SESSIONS_RENEW, .name = call->name };
        struct sessions_actions actions;
        bool is_said, is_read;
        json_t *body;

        if (!api_find(call) || !api_has_no_query(call))
                return;
        body = api_body(call, true);
        is_read = body && api_read_ttl(call, body, &event.ttl_ns, &is_said);
        json_decref(body);
        if (is_read && apply_event(call, &event, &actions))
                reply_session(call, 200, call->name);
}

static bool read_force(struct api_call *call, bool *ret)
{
        struct api_query query;

        *ret = false;
        api_query_begin(call, &query);
        while (api_query_next(call, &query)) {
                bool is_true = strcmp(query.value, "true") == 0;

                if (strcmp(query.name, "force") != 0)
                        api_query_refuse(call, &query, "no parameter of this name");
                else if (!is_true && strcmp(query.value, "false") != 0)
                        api_query_refuse(call, &query, "true or false");
                *ret = is_true;
        }
        return !query.has_failed;
}

/* Answers 204 if the session is gone, 202 if some of its programs still run. */
void api_delete_session(struct api_call *call)
{
        const struct sessions_one *session = api_find(call);
        struct sessions_event event = { .type = SESSIONS_RELEASE, .name = call->name };
        struct sessions_actions actions;

        if (!session || !read_force(call, &event.is_forced) || !read_version(call, &event.version))
                return;
        event.is_busy = folder_is_live(node_store(call->api->options.node), session, NULL) != 0;
        if (!apply_event(call, &event, &actions))
                return;
        if (sessions_find(node_sessions(call->api->options.node), call->name))
                reply_session(call, 202, call->name);
        else
                http_reply(call->exchange, 204, NULL, "", 0);
}
