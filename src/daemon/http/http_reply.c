/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes answers: status, headers, body, and problem+json.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/text.h"
#include "daemon/base/json_memory.h"
#include "daemon/http/http_parts.h"

static const struct {
        unsigned status;
        const char *reason;
} reasons[] = {
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 304, "Not Modified" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 411, "Length Required" },
        { 412, "Precondition Failed" },
        { 413, "Content Too Large" },
        { 415, "Unsupported Media Type" },
        { 421, "Misdirected Request" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 503, "Service Unavailable" },
        { 505, "HTTP Version Not Supported" },
};

static const char *reason_of(unsigned status)
{
        for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
                if (reasons[i].status == status)
                        return reasons[i].reason;
        }
        return "Unknown";
}

void http_header(struct http_exchange *exchange, const char *name, const char *format, ...)
{
        struct http_connection *connection = exchange->connection;
        char value[1024];
        size_t used;
        va_list args;

        if (!connection->headers)
                connection->headers = calloc(1, HTTP_HEADERS_BYTES);
        if (!connection->headers)
                return;
        va_start(args, format);
        vsnprintf(value, sizeof(value), format, args);
        va_end(args);
        used = strlen(connection->headers);
        /* A header that does not fit is left out as a whole. No answer depends on such a header. */
        if (used + strlen(name) + strlen(value) + sizeof(": \r\n") <= HTTP_HEADERS_BYTES)
                sprintf(connection->headers + used, "%s: %s\r\n", name, value);
}

static bool wants_body(const struct http_exchange *exchange, unsigned status)
{
        return status != 204 && status != 304 &&
               !(exchange->request && strcmp(exchange->request->method, "HEAD") == 0);
}

static void begin_reply(struct http_exchange *exchange, unsigned status, const char *type)
{
        struct http_connection *connection = exchange->connection;
        struct evbuffer *output = connection->output;
        char date[64] = "";
        time_t now = time(NULL);
        struct tm tm;

        if (gmtime_r(&now, &tm))
                strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        exchange->status = status;
        connection->is_replied = true;
        evbuffer_add_printf(output, "HTTP/1.1 %u %s\r\nDate: %s\r\n", status, reason_of(status),
                            date);
        if (type)
                evbuffer_add_printf(
                        output, "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\n", type);
        if (connection->headers)
                evbuffer_add(output, connection->headers, strlen(connection->headers));
        if (!connection->request.keeps_alive)
                evbuffer_add_printf(output, "Connection: close\r\n");
        else if (connection->request.is_old)
                evbuffer_add_printf(output, "Connection: keep-alive\r\n");
}

/* Writes the status line and headers. Returns the buffer for the body; NULL: there is no body, or
 * the request was already answered. */
static struct evbuffer *put_head(struct http_exchange *exchange, unsigned status, const char *type,
                                 size_t length)
{
        struct evbuffer *output = exchange->connection->output;

        if (exchange->connection->is_replied)
                return NULL;
        begin_reply(exchange, status, type);
        if (status != 204 && status != 304)
                evbuffer_add_printf(output, "Content-Length: %zu\r\n", length);
        evbuffer_add(output, "\r\n", 2);
        return wants_body(exchange, status) ? output : NULL;
}

void http_reply(struct http_exchange *exchange, unsigned status, const char *type, const char *body,
                size_t length)
{
        struct evbuffer *output = put_head(exchange, status, type, length);

        if (output)
                evbuffer_add(output, body, length);
}

/* -- Texts that several answers share --------------------------------------------------------- */

struct http_shared {
        unsigned users;
        size_t length;
        char *text;
};

struct http_shared *http_share(char *text, size_t length)
{
        struct http_shared *shared = malloc(sizeof(*shared));

        if (!shared) {
                free(text);
                return NULL;
        }
        *shared = (struct http_shared){ .users = 1, .length = length, .text = text };
        return shared;
}

void http_shared_drop(struct http_shared *shared)
{
        if (!shared || --shared->users)
                return;
        free(shared->text);
        free(shared);
}

static void on_left(const void *text, size_t length, void *shared)
{
        http_shared_drop(shared);
}

void http_reply_shared(struct http_exchange *exchange, unsigned status, const char *type,
                       struct http_shared *shared)
{
        struct evbuffer *output = put_head(exchange, status, type, shared->length);

        if (output &&
            evbuffer_add_reference(output, shared->text, shared->length, on_left, shared) == 0)
                shared->users++;
}

/* -- JSON ------------------------------------------------------------------------------------- */

static void reply_json(struct http_exchange *exchange, unsigned status, const char *type,
                       json_t *json)
{
        static const char sorry[] = "{\"type\":\"/problems/out-of-memory\",\"status\":503}\n";
        char *text = json_memory_was_short() ? NULL : json_memory_text(json, HTTP_JSON);

        json_decref(json);
        if (text)
                http_reply(exchange, status, type, text, strlen(text));
        else
                http_reply(exchange, 503, "application/problem+json", sorry, sizeof(sorry) - 1);
        free(text);
}

void http_reply_json(struct http_exchange *exchange, unsigned status, json_t *json)
{
        reply_json(exchange, status, "application/json", json);
}

/* Makes the title of a kind of problem from its name, with spaces for dashes. */
static void title_of(const char *kind, char *ret, size_t bytes)
{
        snprintf(ret, bytes, "%s", kind);
        for (char *at = ret; *at; at++) {
                if (*at == '-')
                        *at = ' ';
        }
        if (ret[0] >= 'a' && ret[0] <= 'z')
                ret[0] = (char)(ret[0] - 'a' + 'A');
}

void http_problem(struct http_exchange *exchange, unsigned status, const char *type, json_t *more,
                  const char *format, ...)
{
        char detail[768], quoted[768], title[64], uri[96];
        json_t *json;
        va_list args;

        va_start(args, format);
        vsnprintf(detail, sizeof(detail), format, args);
        va_end(args);
        title_of(type, title, sizeof(title));
        snprintf(uri, sizeof(uri), "/problems/%s", type);
        json = json_pack("{s:s, s:s, s:i, s:s}", "type", uri, "title", title, "status", (int)status,
                         "detail", text_quote(detail, quoted, sizeof(quoted)));
        if (json && more)
                json_object_update(json, more);
        json_decref(more);
        reply_json(exchange, status, "application/problem+json", json);
}

void http_refuse(struct http_connection *connection, unsigned status, const char *why)
{
        const struct http_options *options = &connection->http->options;
        struct http_exchange exchange = { .connection = connection,
                                          .peer = &connection->peer,
                                          .route = "none" };

        connection->request.keeps_alive = false;
        json_memory_begin();
        http_problem(&exchange, status, "bad-request", NULL, "%s", why);
        options->done(&exchange, options->context);
        connection->phase = HTTP_CLOSING;
        connection->deadline_ns = clock_machine_ns() + options->config->request_timeout_ns;
}

void http_stream(struct http_exchange *exchange, const char *type, http_gone *gone, void *context)
{
        struct http_connection *connection = exchange->connection;
        struct evbuffer *output = connection->output;

        connection->request.keeps_alive = false;
        http_header(exchange, "Cache-Control", "no-cache");
        begin_reply(exchange, 200, type);
        evbuffer_add(output, "\r\n", 2);
        connection->phase = HTTP_STREAM;
        connection->deadline_ns = 0;
        connection->gone = gone;
        connection->gone_context = context;
}

bool http_send(struct http_connection *connection, const char *text, size_t length)
{
        struct evbuffer *output = connection->output;

        if (evbuffer_get_length(output) + length > HTTP_STREAM_MAX) {
                http_connection_end(connection);
                return false;
        }
        evbuffer_add(output, text, length);
        return true;
}

bool http_has_room(struct http_connection *connection)
{
        return evbuffer_get_length(connection->output) <= HTTP_WAITING_MAX;
}
