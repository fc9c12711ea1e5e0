/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers /v1/events: the audit trail as server-sent events, from any event on.
 *
 * The events of a stream are read from the database, beginning after the last one that was sent. In
 * one turn of the event loop a bounded number of events is sent, a few for each stream in rotation.
 * So a request waits for at most one such turn, however many streams there are and however far they
 * are behind. Event ids are from the database, so a reader that reconnects with the last id it saw
 * misses nothing, even if the daemon was restarted. A reader that reads nothing while too many
 * events happen is disconnected.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/minmax.h"
#include "common/text.h"
#include "daemon/api/api_parts.h"
#include "daemon/base/json_memory.h"
#include "settings/settings.h"

/* maximum number of events of one stream before the next stream is served */
#define BATCH 20u
/* maximum number of events in one turn of the event loop; the last batch may exceed it */
#define TURN_EVENTS 200u
/* maximum number of bytes in one turn; the last batch may exceed it */
#define TURN_BYTES (64u << 10)
#define TURN_USEC 10000u /* time between two turns while some stream is behind */
/* time between two turns while all streams that are behind do not read */
#define BLOCKED_USEC 50000u
#define IDLE_USEC 1000000u
#define BEAT_NS UINT64_C(15000000000) /* time between two comments that keep a connection alive */
/* number of events that may happen while a reader reads nothing */
#define UNREAD_MAX 1000

struct subscriber {
        TAILQ_ENTRY(subscriber) entry;
        struct api_subscribers *all;
        struct http_connection *connection;
        struct api_caller caller;
        char session[SESSIONS_NAME_BYTES]; /* only events of this session; "": of all */
        /* id of the last event that was handled for this stream */
        int64_t last;
        /* id of the latest event when the reader stopped reading; 0: it reads */
        int64_t blocked_at;
};

struct api_subscribers {
        struct http_api *api;
        struct event *clock;
        unsigned wait_usec; /* present interval of `clock` */
        uint64_t beat_ns;   /* CLOCK_MONOTONIC of the next comment */
        /* id of the latest event; it may be too low only while there is no stream */
        int64_t latest;
        unsigned count;
        TAILQ_HEAD(subscriber_list, subscriber) list; /* in the order in which streams are served */
};

static void on_gone(void *context)
{
        struct subscriber *subscriber = context;

        TAILQ_REMOVE(&subscriber->all->list, subscriber, entry);
        subscriber->all->count--;
        free(subscriber);
}

/* Whether the subscriber may see an event. Events of other users' sessions are hidden. */
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

/* Sends one event. False: the connection ended, and the subscriber was freed. */
static bool send_event(struct subscriber *subscriber, const struct database_event *event,
                       size_t *ret_bytes)
{
        char time[API_TIME_BYTES], *text = NULL, *data;
        size_t length = 0;
        bool is_here = true;
        FILE *stream;
        json_t *detail, *json;

        subscriber->last = event->id;
        json_memory_begin();
        detail = json_loads(event->detail ? event->detail : "{}", 0, NULL);
        json = json_pack("{s:I, s:s, s:s, s:o, s:s, s:o}", "id", (json_int_t)event->id, "time",
                         api_time(event->time_ns, time), "type", event->type, "session",
                         event->session[0] ? json_string(event->session) : json_null(), "who",
                         event->who, "detail", detail ? detail : json_object());
        data = json_memory_was_short() ? NULL : json_memory_text(json, HTTP_JSON);
        json_decref(json);
        stream = data ? open_memstream(&text, &length) : NULL;
        if (stream) {
                fprintf(stream, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)event->id,
                        event->type, data);
                if (fclose(stream) == 0)
                        is_here = http_send(subscriber->connection, text, length);
        }
        *ret_bytes = length;
        free(text);
        free(data);
        return is_here;
}

/* -- Turns ------------------------------------------------------------------------------------ */

/* Number of events and bytes that may still be sent in this turn. */
struct turn_room {
        unsigned events;
        size_t bytes;
};

struct event_batch {
        struct subscriber *subscriber;
        unsigned count;
        size_t bytes;
};

/* Handles one event of a batch. Returns -EPIPE, which ends the batch, if the subscriber takes no
 * more or is gone. */
static int send_one(const struct database_event *event, void *context)
{
        struct event_batch *batch = context;
        struct subscriber *subscriber = batch->subscriber;
        size_t bytes = 0;
        bool is_here = true;

        batch->count++;
        if (may_hear(subscriber, event))
                is_here = send_event(subscriber, event, &bytes);
        else
                subscriber->last = event->id;
        batch->bytes += bytes;
        return is_here ? 0 : -EPIPE;
}

/* Sends a batch to one stream. The query counts as one event even if it finds none. Negative errno:
 * the database cannot be read now. */
static int send_batch(struct api_subscribers *all, struct subscriber *subscriber,
                      struct turn_room *turn)
{
        struct event_batch batch = { .subscriber = subscriber };
        const struct event_query query = { subscriber->last, BATCH,
                                           subscriber->session[0] ? subscriber->session : NULL };
        struct error err = { 0 };
        int rc = database_events(node_database(all->api->options.node), &query, send_one, &batch,
                                 &err);

        if (rc == 0 && batch.count < BATCH && subscriber->last < all->latest)
                subscriber->last = all->latest;
        turn->events -= batch.count + 1 < turn->events ? batch.count + 1 : turn->events;
        turn->bytes -= batch.bytes < turn->bytes ? batch.bytes : turn->bytes;
        return rc;
}

/* Notes that a reader does not read, and disconnects it if too many events have happened since. */
static void wait_for_reader(struct api_subscribers *all, struct subscriber *subscriber)
{
        if (!subscriber->blocked_at)
                subscriber->blocked_at = all->latest;
        else if (all->latest - subscriber->blocked_at > UNREAD_MAX)
                http_connection_end(subscriber->connection);
}

/* Sends a batch to each stream that is behind, within the limits of a turn. The next turn begins
 * where this one ended. Returns the time until then in microseconds. */
static unsigned serve_streams(struct api_subscribers *all)
{
        struct turn_room turn = { .events = TURN_EVENTS, .bytes = TURN_BYTES };
        unsigned wait_usec = IDLE_USEC;

        for (unsigned left = all->count; left; left--) {
                struct subscriber *subscriber = TAILQ_FIRST(&all->list);

                if (!turn.events || !turn.bytes)
                        return TURN_USEC;
                TAILQ_REMOVE(&all->list, subscriber, entry);
                TAILQ_INSERT_TAIL(&all->list, subscriber, entry);
                if (subscriber->last >= all->latest)
                        continue;
                if (!http_has_room(subscriber->connection)) {
                        wait_usec = min_u32(wait_usec, BLOCKED_USEC);
                        wait_for_reader(all, subscriber);
                        continue;
                }
                subscriber->blocked_at = 0;
                if (send_batch(all, subscriber, &turn) < 0)
                        return IDLE_USEC;
                wait_usec = TURN_USEC;
        }
        return wait_usec;
}

static void beat(struct api_subscribers *all)
{
        static const char comment[] = ": still here\n\n";
        struct subscriber *subscriber = TAILQ_FIRST(&all->list);
        uint64_t now_ns = clock_machine_ns();

        if (now_ns < all->beat_ns)
                return;
        all->beat_ns = now_ns + BEAT_NS;
        while (subscriber) {
                struct subscriber *next = TAILQ_NEXT(subscriber, entry);

                if (http_has_room(subscriber->connection))
                        http_send(subscriber->connection, comment, sizeof(comment) - 1);
                subscriber = next;
        }
}

static int set_clock(struct api_subscribers *all, unsigned wait_usec)
{
        const struct timeval wait = { wait_usec / 1000000, wait_usec % 1000000 };

        all->wait_usec = wait_usec;
        return event_add(all->clock, &wait);
}

static void on_clock(evutil_socket_t fd, short what, void *context)
{
        struct api_subscribers *all = context;

        beat(all);
        set_clock(all, serve_streams(all));
}

/* Makes the next turn begin TURN_USEC from now, if it would be later. */
static void hasten_clock(struct api_subscribers *all)
{
        if (all->wait_usec > TURN_USEC)
                set_clock(all, TURN_USEC);
}

static void on_event(const struct database_event *event, void *context)
{
        struct api_subscribers *all = context;

        all->latest = event->id;
        if (all->count)
                hasten_clock(all);
}

/* -- Subscribing ------------------------------------------------------------------------------ */

static bool find_latest(struct api_call *call)
{
        struct error err = { 0 };
        int64_t oldest, latest;

        if (database_event_range(node_database(call->api->options.node), &oldest, &latest, &err) <
            0) {
                api_refuse(call, 503, "unavailable", NULL, "%s", err.text);
                return false;
        }
        call->api->subscribers->latest = latest;
        return true;
}

struct wishes {
        uint64_t since, last;
        bool has_last;
};

/* Reads one parameter of the query. Returns NULL, or a text that says what was expected. */
static const char *read_parameter(const struct api_query *query, struct wishes *wishes,
                                  struct subscriber *ret)
{
        const char *name = query->name, *value = query->value;

        if (strcmp(name, "since") == 0)
                return api_whole(value, INT64_MAX, &wishes->since) ? NULL
                                                                   : "the number of an event";
        if (strcmp(name, "last") == 0) {
                wishes->has_last = true;
                return api_whole(value, INT64_MAX, &wishes->last) ? NULL : "how many events";
        }
        if (strcmp(name, "session") != 0)
                return "no parameter of this name";
        if (settings_check_name("", value, NULL) < 0)
                return "the name of a session";
        text_put(ret->session, sizeof(ret->session), NULL, "%s", value);
        return NULL;
}

/* Reads where the stream begins: after `since` or Last-Event-ID, or with the next event. */
static bool read_wishes(struct api_call *call, struct subscriber *ret)
{
        const char *seen = request_header(call->exchange->request, "Last-Event-ID");
        const uint64_t latest = (uint64_t)call->api->subscribers->latest;
        struct wishes wishes = { .since = latest };
        struct api_query query;

        api_query_begin(call, &query);
        while (api_query_next(call, &query)) {
                const char *expected = read_parameter(&query, &wishes, ret);

                if (expected)
                        api_query_refuse(call, &query, expected);
        }
        if (query.has_failed)
                return false;
        if (wishes.has_last)
                wishes.since = latest > wishes.last ? latest - wishes.last : 0;
        if (seen && !api_whole(seen, INT64_MAX, &wishes.since)) {
                api_refuse(call, 400, "bad-field", "Last-Event-ID", "it is the number of no event");
                return false;
        }
        /* an id beyond the latest event counts as the latest */
        ret->last = (int64_t)min_u64(wishes.since, latest);
        return true;
}

void api_get_events(struct api_call *call)
{
        struct api_subscribers *all = call->api->subscribers;
        struct subscriber wishes = { .all = all,
                                     .caller = call->caller,
                                     .connection = call->exchange->connection };
        struct subscriber *subscriber;

        if (!find_latest(call) || !read_wishes(call, &wishes))
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
        TAILQ_INSERT_TAIL(&all->list, subscriber, entry);
        all->count++;
        hasten_clock(all);
        http_stream(call->exchange, "text/event-stream", on_gone, subscriber);
}

struct api_subscribers *api_subscribers_new(struct http_api *api)
{
        struct api_subscribers *all = calloc(1, sizeof(*all));

        if (!all)
                return NULL;
        all->api = api;
        TAILQ_INIT(&all->list);
        all->beat_ns = clock_machine_ns() + BEAT_NS;
        all->clock = event_new(api->options.base, -1, 0, on_clock, all);
        if (!all->clock || set_clock(all, IDLE_USEC) < 0) {
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
