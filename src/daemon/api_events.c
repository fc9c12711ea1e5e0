/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/events: the audit trail as server-sent events, from any event on.
 *
 * Who asks for what was before is read to from the database, a batch at a time, as fast as it
 * reads; whoever has caught up gets each event when it happens. Numbers of events are the
 * database's, so a reader that comes back with the last it saw misses nothing, also over a restart.
 * A reader that lets too much pile up is cut off.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/text.h"
#include "daemon/api_parts.h"
#include "settings/settings.h"

#define BATCH 200u
#define CLOCK_USEC 50000
#define BEATS 300u /* of the clock: a comment every 15 s shows that the connection lives */

struct subscriber {
        LIST_ENTRY(subscriber) entry;
        struct http_connection *connection;
        struct api_caller caller;
        char session[SESSIONS_NAME_BYTES]; /* "": all */
        int64_t last;                      /* the event it has had */
        bool is_behind;
};

struct api_subscribers {
        struct api *api;
        struct event *clock;
        unsigned beats;
        LIST_HEAD(subscriber_list, subscriber) list;
};

static void on_gone(void *context)
{
        struct subscriber *subscriber = context;

        LIST_REMOVE(subscriber, entry);
        free(subscriber);
}

/* Another user's sessions are not told. */
static bool may_hear(const struct subscriber *subscriber, const struct database_event *event)
{
        json_t *detail;
        bool is_own;

        if (subscriber->session[0] && strcmp(subscriber->session, event->session) != 0)
                return false;
        if (subscriber->caller.sees_all ||
            (!event->session[0] && strcmp(event->type, "stranger") != 0))
                return true;
        detail = json_loads(event->detail ? event->detail : "{}", 0, NULL);
        is_own = json_integer_value(json_object_get(detail, "owner")) ==
                         (json_int_t)subscriber->caller.uid &&
                 json_object_get(detail, "owner");
        json_decref(detail);
        return is_own;
}

/* False: the reader is gone, and the subscriber with it. */
static bool send_event(struct subscriber *subscriber, const struct database_event *event)
{
        json_t *detail = json_loads(event->detail ? event->detail : "{}", 0, NULL);
        char time[API_TIME_BYTES], *text = NULL, *data;
        size_t length = 0;
        bool is_here = true;
        FILE *stream;
        json_t *json;

        subscriber->last = event->id;
        json = json_pack("{s:I, s:s, s:s, s:o, s:s, s:o}", "id", (json_int_t)event->id, "time",
                         api_time(event->time_ns, time), "type", event->type, "session",
                         event->session[0] ? json_string(event->session) : json_null(), "who",
                         event->who, "detail", detail ? detail : json_object());
        data = json ? json_dumps(json, HTTP_JSON) : NULL;
        json_decref(json);
        stream = data ? open_memstream(&text, &length) : NULL;
        if (stream) {
                fprintf(stream, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)event->id,
                        event->type, data);
                if (fclose(stream) == 0)
                        is_here = http_send(subscriber->connection, text, length);
        }
        free(text);
        free(data);
        return is_here;
}

/* -- What was before -------------------------------------------------------------------------- */

struct replay {
        struct subscriber *subscriber;
        unsigned count;
};

/* -EPIPE ends the walk. */
static int replay_one(const struct database_event *event, void *context)
{
        struct replay *replay = context;
        struct subscriber *subscriber = replay->subscriber;

        replay->count++;
        if (may_hear(subscriber, event))
                return send_event(subscriber, event) ? 0 : -1;
        subscriber->last = event->id;
        return 0;
}

static void catch_up(struct api_subscribers *all, struct subscriber *subscriber)
{
        struct replay replay = { .subscriber = subscriber };
        struct error err = { 0 };
        int rc = database_events(node_database(all->api->options.node), subscriber->last, BATCH,
                                 subscriber->session[0] ? subscriber->session : NULL, replay_one,
                                 &replay, &err);

        if (rc == 0 && replay.count < BATCH)
                subscriber->is_behind = false;
}

static void on_clock(evutil_socket_t fd, short what, void *context)
{
        static const char beat[] = ": still here\n\n";
        struct api_subscribers *all = context;
        struct subscriber *subscriber = LIST_FIRST(&all->list);
        bool is_beat = ++all->beats % BEATS == 0;

        while (subscriber) {
                struct subscriber *next = LIST_NEXT(subscriber, entry);

                if (subscriber->is_behind && http_has_room(subscriber->connection))
                        catch_up(all, subscriber);
                else if (is_beat)
                        http_send(subscriber->connection, beat, sizeof(beat) - 1);
                subscriber = next;
        }
}

static void on_event(const struct database_event *event, void *context)
{
        struct api_subscribers *all = context;
        struct subscriber *subscriber = LIST_FIRST(&all->list);

        while (subscriber) {
                struct subscriber *next = LIST_NEXT(subscriber, entry);

                if (!subscriber->is_behind && may_hear(subscriber, event))
                        send_event(subscriber, event);
                subscriber = next;
        }
}

/* -- Who wants to hear ------------------------------------------------------------------------ */

/* The number of the event before the last `count`. */
static bool before_last(struct api_call *call, uint64_t count, uint64_t *ret)
{
        struct error err = { 0 };
        int64_t oldest, latest;

        if (database_event_range(node_database(call->api->options.node), &oldest, &latest, &err) <
            0) {
                api_refuse(call, 503, "unavailable", NULL, "%s", err.text);
                return false;
        }
        *ret = (uint64_t)latest > count ? (uint64_t)latest - count : 0;
        return true;
}

static bool read_wishes(struct api_call *call, struct subscriber *ret)
{
        const char *seen = request_header(call->exchange->request, "Last-Event-ID");
        struct api_query query;
        uint64_t since = 0, last = 0;
        bool has_last = false;

        api_query_begin(call, &query);
        while (api_query_next(call, &query)) {
                if (strcmp(query.name, "since") == 0) {
                        if (!api_whole(query.value, INT64_MAX, &since))
                                api_query_refuse(call, &query, "the number of an event");
                        ret->is_behind = true;
                } else if (strcmp(query.name, "last") == 0) {
                        if (!api_whole(query.value, INT64_MAX, &last))
                                api_query_refuse(call, &query, "how many events");
                        has_last = true;
                } else if (strcmp(query.name, "session") == 0) {
                        if (settings_check_name("", query.value, NULL) < 0)
                                api_query_refuse(call, &query, "the name of a session");
                        else
                                text_put(ret->session, sizeof(ret->session), NULL, "%s",
                                         query.value);
                } else {
                        api_query_refuse(call, &query, "no parameter of this name");
                }
        }
        if (query.has_failed)
                return false;
        if (has_last && !before_last(call, last, &since))
                return false;
        if (seen && !api_whole(seen, INT64_MAX, &since)) {
                api_refuse(call, 400, "bad-field", "Last-Event-ID", "it is the number of no event");
                return false;
        }
        ret->is_behind = ret->is_behind || has_last || seen;
        ret->last = (int64_t)since;
        return true;
}

void api_get_events(struct api_call *call)
{
        struct api_subscribers *all = call->api->subscribers;
        struct subscriber wishes = { .caller = call->caller,
                                     .connection = call->exchange->connection };
        struct subscriber *subscriber;

        if (!read_wishes(call, &wishes))
                return;
        if (strcmp(call->exchange->request->method, "HEAD") == 0) {
                http_reply(call->exchange, 200, "text/event-stream", "", 0);
                return;
        }
        subscriber = malloc(sizeof(*subscriber));
        if (!subscriber) {
                api_refuse(call, 503, "unavailable", NULL, "out of memory");
                return;
        }
        *subscriber = wishes;
        LIST_INSERT_HEAD(&all->list, subscriber, entry);
        http_stream(call->exchange, "text/event-stream", on_gone, subscriber);
}

struct api_subscribers *api_subscribers_new(struct api *api)
{
        const struct timeval every = { .tv_usec = CLOCK_USEC };
        struct api_subscribers *all = calloc(1, sizeof(*all));

        if (!all)
                return NULL;
        all->api = api;
        LIST_INIT(&all->list);
        all->clock = event_new(api->options.base, -1, EV_PERSIST, on_clock, all);
        if (!all->clock || event_add(all->clock, &every) < 0) {
                api_subscribers_free(all);
                return NULL;
        }
        node_listen(api->options.node, on_event, all);
        return all;
}

void api_subscribers_free(struct api_subscribers *all)
{
        if (!all)
                return;
        if (all->clock)
                event_free(all->clock);
        node_listen(all->api->options.node, NULL, NULL);
        free(all);
}
