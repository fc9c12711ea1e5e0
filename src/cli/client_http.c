/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends one request to the daemon and reads the response. Turns a problem document (RFC 9457) into
 * one line.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client_parts.h"
#include "cli/presence.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "common/scoped.h"
#include "common/text.h"
#include "common/units.h"

#define SILENT_MS 1000 /* a longer wait is reported to the user */
#define ANSWER_BYTES (16u << 20)
#define MS_A_SECOND 1000L
#define NS_A_MS UINT64_C(1000000)

int client_away(const struct store *store, const char *why, struct error *err)
{
        return fail(err, CLIENT_AWAY,
                    "the daemon of %s does not answer (%s); look at its log, or start it again",
                    store->path, why);
}

/* Set when an allocation fails. jansson then leaves out members, so a request or a response would
 * be incomplete. */
static bool lacks_memory;

static void *allocate(size_t bytes)
{
        void *memory = malloc(bytes);

        lacks_memory |= !memory;
        return memory;
}

static int check_memory(struct error *err)
{
        bool is_so = lacks_memory;

        lacks_memory = false;
        return is_so ? fail(err, -ENOMEM, "out of memory") : 0;
}

json_t *client_object(void)
{
        json_set_alloc_funcs(allocate, free);
        return json_object();
}

static json_t *read_json(const char *text)
{
        json_set_alloc_funcs(allocate, free);
        return json_loads(text, 0, NULL);
}

void client_end_call(struct call *call)
{
        json_decref(call->body);
        json_decref(call->answer);
        free(call->text);
}

size_t client_take(char *bytes, size_t size, size_t count, void *context)
{
        struct call *call = context;
        char *grown = NULL;

        if (size * count <= ANSWER_BYTES - call->length)
                grown = realloc(call->text, call->length + size * count + 1);
        if (!grown)
                return 0;
        call->text = grown;
        memcpy(grown + call->length, bytes, size * count);
        call->length += size * count;
        grown[call->length] = '\0';
        return size * count;
}

static int add_header(struct curl_slist **headers, const char *header)
{
        struct curl_slist *longer = curl_slist_append(*headers, header);

        if (!longer)
                return -ENOMEM;
        *headers = longer;
        return 0;
}

static int add_headers(const struct call *call, struct curl_slist **headers)
{
        char match[64];
        int rc = 0;

        if (call->body)
                rc = add_header(headers, "Content-Type: application/json");
        if (rc == 0 && call->version) {
                snprintf(match, sizeof(match), "If-Match: \"%llu\"",
                         (unsigned long long)call->version);
                rc = add_header(headers, match);
        }
        return rc;
}

void client_tell_waiting(const struct store *store, long max_ms)
{
        fprintf(stderr,
                "aliquot: the daemon of %s does not answer; waiting for it, %ld s at most\n",
                store->path, max_ms / MS_A_SECOND);
}

uint64_t client_waited_ms(struct client_vigil *vigil)
{
        uint64_t waited_ms = (clock_machine_ns() - vigil->began_ns) / NS_A_MS;

        if (!vigil->is_told && waited_ms >= SILENT_MS) {
                vigil->is_told = true;
                client_tell_waiting(vigil->store, CLIENT_ANSWER_MS);
        }
        return waited_ms;
}

/* Callback for libcurl, about once a second: reports a long wait. */
static int watch_progress(void *context, curl_off_t down, curl_off_t downloaded, curl_off_t up,
                          curl_off_t uploaded)
{
        if (downloaded == 0)
                client_waited_ms(context);
        return 0;
}

/* Sets the timeout of a call. A call with its own timeout is short, and its wait is not
 * reported. */
static void set_patience(CURL *curl, const struct call *call, struct client_vigil *vigil)
{
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                         call->patience_ms ? call->patience_ms : CLIENT_ANSWER_MS);
        if (call->patience_ms)
                return;
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch_progress);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, vigil);
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

static CURLcode send_call(struct call *call, const char *body, struct curl_slist *headers)
{
        struct client_vigil vigil = { call->store, clock_machine_ns(), false };
        scoped_reach struct client_reach reach = CLIENT_REACH(call->patience_ms ? NULL : &vigil);
        CURL *curl = client_open_socket(call->store, call->url, &reach);
        CURLcode rc = CURLE_OUT_OF_MEMORY;

        if (call->patience_ms)
                reach.max_ms = min_u64((uint64_t)call->patience_ms, reach.max_ms);
        if (curl) {
                curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
                curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
                set_patience(curl, call, &vigil);
                curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, client_take);
                curl_easy_setopt(curl, CURLOPT_WRITEDATA, call);
                if (body)
                        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
                rc = curl_easy_perform(curl);
                curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &call->status);
                curl_easy_cleanup(curl);
        }
        return rc;
}

static int end_call(struct call *call, struct error *err)
{
        scoped_free char *body = call->body ? json_dumps(call->body, JSON_COMPACT) : NULL;
        struct curl_slist *headers = NULL;
        CURLcode rc = CURLE_OUT_OF_MEMORY;

        if (check_memory(err) < 0)
                return -ENOMEM;
        if (add_headers(call, &headers) == 0)
                rc = send_call(call, body, headers);
        curl_slist_free_all(headers);
        if (rc == CURLE_OUT_OF_MEMORY)
                return fail(err, -ENOMEM, "out of memory");
        if (rc == CURLE_OPERATION_TIMEDOUT && strcmp(call->method, "GET") != 0)
                return client_away(call->store, "no reply in time; the change may still be applied",
                                   err);
        return rc == CURLE_OK ? 0 : client_away(call->store, curl_easy_strerror(rc), err);
}

/* -- Problems --------------------------------------------------------------------------------- */

const char *client_text(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

uint64_t client_whole(const json_t *object, const char *key)
{
        json_int_t value = json_integer_value(json_object_get(object, key));

        return value > 0 ? (uint64_t)value : 0;
}

/* Adds the free memory to a line, as in "; free: GPU 0 2 GiB, GPU 1 0 B". */
static void add_room(struct text *line, const json_t *devices)
{
        char size[SIZE_TEXT_BYTES];
        const char *before = "; free: ";
        json_t *device;
        size_t at;

        json_array_foreach(devices, at, device)
        {
                text_add(line, "%sGPU %lld %s", before,
                         (long long)json_integer_value(json_object_get(device, "index")),
                         size_format(client_whole(device, "room_bytes"), size));
                before = ", ";
        }
}

static int code_of(const struct call *call)
{
        const char *type = client_text(call->answer, "type");

        switch (call->status) {
        case 401:
        case 403:
                return -EACCES;
        case 404:
                return -ENOENT;
        case 409:
                if (strstr(type, "exists"))
                        return -EEXIST;
                if (strstr(type, "ending"))
                        return -ESHUTDOWN;
                return strstr(type, "no-") || strstr(type, "full") ? -ENOSPC : -EBUSY;
        case 412:
                return -ESTALE;
        default:
                return -EINVAL;
        }
}

/* Makes one line from the problem with which the daemon answered. */
int client_refusal(const struct call *call, struct error *err)
{
        const char *field = client_text(call->answer, "field");
        const char *detail = client_text(call->answer, "detail");
        char said[sizeof(err->text)], line[sizeof(err->text)];
        struct text text;

        text_begin(&text, line, sizeof(line));
        if (!call->answer || !detail[0])
                text_add(&text, "the daemon answered %ld", call->status);
        else if (field[0] && !strstr(detail, field))
                text_add(&text, "%s: %s", field, detail);
        else
                text_add(&text, "%s", detail);
        add_room(&text, json_object_get(call->answer, "devices"));
        return fail(err, code_of(call), "%s", text_quote(line, said, sizeof(said)));
}

int client_perform(struct call *call, struct error *err)
{
        int rc = end_call(call, err);

        if (rc < 0)
                return rc;
        if (call->text)
                call->answer = read_json(call->text);
        rc = check_memory(err);
        if (rc < 0)
                return rc;
        if (call->status >= 200 && call->status < 300) {
                if (call->status == 204 || json_is_object(call->answer) ||
                    json_is_array(call->answer))
                        return 0;
                return client_away(call->store, "what it says is no JSON", err);
        }
        return client_refusal(call, err);
}

int client_start_call(struct call *call, struct error *err, const char *format, ...)
{
        char path[CLIENT_URL_BYTES - 32];
        va_list args;
        int length;

        va_start(args, format);
        length = vsnprintf(path, sizeof(path), format, args);
        va_end(args);
        if (length < 0 || (size_t)length >= sizeof(path))
                return fail(err, -ENAMETOOLONG, "a name that is too long");
        return text_put(call->url, sizeof(call->url), err, "http://localhost%s", path);
}
