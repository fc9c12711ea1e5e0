/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the daemon's server-sent events.
 */
#include "cli/client_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client_parts.h"
#include "common/machine_clock.h"
#include "common/scoped.h"
#include "common/text.h"
#include "common/units.h"
#include "common/uuid.h"

/* Without a message for this long, the daemon counts as silent: it sends one every 15 s, which may
 * be as late as any response. */
#define BEAT_MAX_NS (UINT64_C(25) * CLOCK_SECOND_NS)

struct stream {
        /* call.text is the incomplete line received so far, or the text of a problem */
        struct call call;
        CURL *curl;
        bool (*each)(const struct client_event *event, void *context);
        bool (*is_wanted)(void *context);
        void *context;
        bool is_over;              /* no more events are wanted */
        bool is_silent;            /* there was no message from the daemon for too long */
        struct client_vigil vigil; /* the wait since the daemon's last message */
};

/* Adds limits to a text, as in "memory=GPU-42d2f742:4 GiB". */
static void add_memory(struct text *text, json_t *memory)
{
        char size[SIZE_TEXT_BYTES];
        const char *uuid, *before = "memory=";
        json_t *bytes;

        json_object_foreach(memory, uuid, bytes)
        {
                text_add(text, "%s%.*s:%s", before, UUID_SHOWN, uuid,
                         size_format((uint64_t)json_integer_value(bytes), size));
                before = ", ";
        }
}

/* Makes the text of an event for users; the JSON has all of its fields. The caller keeps ownership
 * of `detail`. */
static void tell_detail(json_t *detail, char *ret, size_t bytes)
{
        static const char *const bookkeeping[] = { "owner", "version", "expires_ns" };
        const char *key;
        struct text text;
        json_t *value;

        text_begin(&text, ret, bytes);
        json_object_foreach(detail, key, value)
        {
                scoped_free char *shown = NULL;
                bool is_wanted = true;

                for (unsigned i = 0; i < sizeof(bookkeeping) / sizeof(bookkeeping[0]); i++)
                        is_wanted = is_wanted && strcmp(key, bookkeeping[i]) != 0;
                if (!is_wanted)
                        continue;
                text_add(&text, "%s", text.used ? " " : "");
                if (json_is_object(value) && strcmp(key, "memory") == 0) {
                        add_memory(&text, value);
                        continue;
                }
                shown = json_is_string(value) ? strdup(json_string_value(value))
                                              : json_dumps(value, CLIENT_JSON | JSON_ENCODE_ANY);
                text_add(&text, "%s=%s", key, shown ? shown : "");
        }
}

static void tell_event(struct stream *stream, const char *data)
{
        json_t *json = json_loads(data, 0, NULL);
        char said[1024], detail[1024];
        scoped_free char *line = json ? json_dumps(json, CLIENT_JSON | JSON_ENSURE_ASCII) : NULL;
        struct client_event event = { .json = line, .detail = detail };

        if (!line) {
                json_decref(json);
                return;
        }
        tell_detail(json_object_get(json, "detail"), said, sizeof(said));
        text_quote(said, detail, sizeof(detail));
        event.id = json_integer_value(json_object_get(json, "id"));
        text_quote(client_text(json, "time"), event.time, sizeof(event.time));
        text_quote(client_text(json, "type"), event.type, sizeof(event.type));
        text_quote(client_text(json, "session"), event.session, sizeof(event.session));
        text_quote(client_text(json, "who"), event.who, sizeof(event.who));
        stream->is_over = !stream->each(&event, stream->context);
        json_decref(json);
}

/* Callback for libcurl: processes the complete lines that have arrived. Only the data of an event
 * is used, because it has all fields. */
static size_t take_events(char *bytes, size_t size, size_t count, void *context)
{
        struct stream *stream = context;
        struct call *call = &stream->call;
        size_t taken = client_take(bytes, size, count, call);
        char *line = call->text, *end;

        stream->vigil.began_ns = clock_machine_ns();
        curl_easy_getinfo(stream->curl, CURLINFO_RESPONSE_CODE, &call->status);
        if (!taken || call->status != 200)
                return taken;
        while (!stream->is_over && (end = strchr(line, '\n'))) {
                *end = '\0';
                if (strncmp(line, "data: ", 6) == 0)
                        tell_event(stream, line + 6);
                line = end + 1;
        }
        call->length = strlen(line);
        memmove(call->text, line, call->length + 1);
        return stream->is_over ? 0 : taken;
}

static int on_progress(void *context, curl_off_t down, curl_off_t downloaded, curl_off_t up,
                       curl_off_t uploaded)
{
        struct stream *stream = context;
        long status = 0;

        if (stream->is_wanted)
                stream->is_over |= !stream->is_wanted(stream->context);
        curl_easy_getinfo(stream->curl, CURLINFO_RESPONSE_CODE, &status);
        if (status == 0)
                stream->is_silent = client_waited_ms(&stream->vigil) >= CLIENT_ANSWER_MS;
        else
                stream->is_silent = clock_machine_ns() - stream->vigil.began_ns >= BEAT_MAX_NS;
        return stream->is_over || stream->is_silent;
}

static int follow(struct stream *stream, struct error *err)
{
        struct call *call = &stream->call;
        scoped_reach struct client_reach reach = CLIENT_REACH(&stream->vigil);
        CURLcode rc = CURLE_OUT_OF_MEMORY;

        stream->curl = client_open_socket(call->store, call->url, &reach);
        if (stream->curl) {
                curl_easy_setopt(stream->curl, CURLOPT_WRITEFUNCTION, take_events);
                curl_easy_setopt(stream->curl, CURLOPT_WRITEDATA, stream);
                curl_easy_setopt(stream->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
                curl_easy_setopt(stream->curl, CURLOPT_XFERINFODATA, stream);
                curl_easy_setopt(stream->curl, CURLOPT_NOPROGRESS, 0L);
                rc = curl_easy_perform(stream->curl);
                curl_easy_getinfo(stream->curl, CURLINFO_RESPONSE_CODE, &call->status);
                curl_easy_cleanup(stream->curl);
        }
        if (stream->is_over)
                return 0;
        if (rc == CURLE_OK && call->status != 200) {
                call->answer = call->text ? json_loads(call->text, 0, NULL) : NULL;
                return client_refusal(call, err);
        }
        if (stream->is_silent)
                return client_away(call->store, "it sends nothing", err);
        return client_away(call->store, rc == CURLE_OK ? "it has ended" : curl_easy_strerror(rc),
                           err);
}

int client_events(const struct store *store, const struct client_hearing *hearing,
                  bool (*each)(const struct client_event *event, void *context), void *context,
                  struct error *err)
{
        struct stream stream = { .call = { .store = store },
                                 .each = each,
                                 .is_wanted = hearing->is_wanted,
                                 .vigil = { store, clock_machine_ns(), false },
                                 .context = context };
        char from[32] = "";
        int rc;

        if (hearing->has_since)
                snprintf(from, sizeof(from), "&since=%lld", (long long)hearing->since);
        else if (hearing->has_last)
                snprintf(from, sizeof(from), "&last=%lld", (long long)hearing->last);
        rc = client_start_call(&stream.call, err, "/v1/events?%s%s%s",
                               hearing->session ? "session=" : "",
                               hearing->session ? hearing->session : "", from);
        if (rc == 0)
                rc = follow(&stream, err);
        client_end_call(&stream.call);
        return rc;
}
