/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles a connection. It is idle, reads a head and a body, waits in the queue, is served by the
 * handler, sends the answer, and is idle again.
 *
 * A request is not served when it was read: the queue calls http_connection_serve() for it later.
 * While the request waits, the connection is not read, so a peer that sends faster than it is
 * served only fills its own socket buffers.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scoped.h"
#include "daemon/base/receive.h"
#include "daemon/http/http_parts.h"

#define READ_MAX 16384u

static void enter_phase(struct http_connection *connection, enum http_phase phase, uint64_t for_ns)
{
        connection->phase = phase;
        connection->deadline_ns = for_ns ? clock_machine_ns() + for_ns : 0;
}

static const struct config *config_of(const struct http_connection *connection)
{
        return connection->http->options.config;
}

static size_t waiting(struct http_connection *connection)
{
        return evbuffer_get_length(connection->output);
}

static void forget_request(struct http_connection *connection)
{
        free(connection->head);
        free(connection->headers);
        connection->head = NULL;
        connection->headers = NULL;
        connection->is_replied = false;
}

/* Frees everything but the socket. libevent must not close it: its events are freed, and
 * http_close() closes it. */
static void free_connection(struct http_connection *connection)
{
        if (connection->readable)
                event_free(connection->readable);
        if (connection->writable)
                event_free(connection->writable);
        if (connection->input)
                evbuffer_free(connection->input);
        if (connection->output)
                evbuffer_free(connection->output);
        free(connection);
}

void http_connection_end(struct http_connection *connection)
{
        struct http *http = connection->http;
        const struct peer *counted = connection->counted;
        const bool is_local = connection->peer.is_local;
        const int fd = connection->fd;

        http_queue_remove(connection);
        TAILQ_REMOVE(&http->connections, connection, entry);
        http->count--;
        http->owner_count -= connection->peer.is_owner;
        peers_leave(connection->counted);
        if (connection->gone)
                connection->gone(connection->gone_context);
        forget_request(connection);
        free_connection(connection);
        http_close(http, fd, is_local, counted);
}

/* Closes the connection for sending only, so that the answer arrives even if the peer is still
 * sending. */
static void drain_connection(struct http_connection *connection)
{
        shutdown(connection->fd, SHUT_WR);
        enter_phase(connection, HTTP_DRAINING, HTTP_DRAIN_NS);
}

void http_connection_expire(struct http_connection *connection)
{
        if (connection->phase == HTTP_HEAD || connection->phase == HTTP_BODY)
                http_refuse(connection, 408, "the request did not arrive in time");
        else
                http_connection_end(connection);
}

/* Moves the connection to the phase after an answer. False: the connection is about to end, or
 * reads no further request for now. */
static bool finish_exchange(struct http_connection *connection)
{
        const struct config *config = config_of(connection);
        bool keeps_alive = connection->request.keeps_alive;

        if (connection->phase == HTTP_STREAM)
                return false;
        forget_request(connection);
        if (!keeps_alive) {
                enter_phase(connection, HTTP_CLOSING, config->request_timeout_ns);
                if (!waiting(connection))
                        drain_connection(connection);
                return false;
        }
        if (waiting(connection) > HTTP_WAITING_MAX) {
                enter_phase(connection, HTTP_LEAVING, config->request_timeout_ns);
                return false;
        }
        enter_phase(connection, HTTP_IDLE, config->idle_timeout_ns);
        TAILQ_REMOVE(&connection->http->connections, connection, entry);
        TAILQ_INSERT_TAIL(&connection->http->connections, connection, entry);
        return true;
}

const uint32_t *http_groups(const struct http_exchange *exchange, unsigned *ret_count)
{
        return peers_groups(exchange->connection->fd, ret_count);
}

static bool answer_request(struct http_connection *connection, const char *body, size_t bytes)
{
        const struct http_options *options = &connection->http->options;
        const struct peers_rate rate = http_rate(connection->http);
        struct http_exchange exchange = { .connection = connection,
                                          .request = &connection->request,
                                          .peer = &connection->peer,
                                          .body = body,
                                          .body_bytes = bytes,
                                          .route = "none" };
        unsigned seconds;

        if (peers_take(connection->counted, &rate, clock_machine_ns(), &seconds)) {
                options->handler(&exchange, options->context);
        } else {
                http_header(&exchange, "Retry-After", "%u", seconds);
                http_problem(&exchange, 429, "too-many-requests", NULL,
                             "more than %u requests a second", rate.per_second);
        }
        options->done(&exchange, options->context);
        return finish_exchange(connection);
}

/* -- Reading ---------------------------------------------------------------------------------- */

/* Parses the head of a request if all of it has arrived. */
static bool take_head(struct http_connection *connection, struct evbuffer *input)
{
        size_t most = config_of(connection)->header_bytes_max;
        struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
        struct error err = { 0 };
        size_t length;
        int status;

        if (end.pos < 0 ? evbuffer_get_length(input) > most : (size_t)end.pos + 4 > most) {
                http_refuse(connection, 431, "the head of the request is too large");
                return false;
        }
        if (end.pos < 0)
                return false;
        length = (size_t)end.pos + 4;
        connection->head = malloc(length + 1);
        if (!connection->head) {
                http_refuse(connection, 503, "out of memory");
                return false;
        }
        evbuffer_remove(input, connection->head, length);
        connection->head[length] = '\0';
        status = request_parse(connection->head, length, &connection->request, &err);
        if (status)
                http_refuse(connection, (unsigned)status, err.text);
        return status == 0;
}

static bool begin_body(struct http_connection *connection)
{
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        const struct request *request = &connection->request;

        if (request->body_bytes > config_of(connection)->body_bytes_max) {
                http_refuse(connection, 413, "the body of the request is too large");
                return false;
        }
        /* the deadline of HTTP_HEAD stays, because it applies to the whole request */
        connection->phase = HTTP_BODY;
        if (request->awaits_continue && request->body_bytes)
                evbuffer_add(connection->output, go_on, sizeof(go_on) - 1);
        return true;
}

/* Reads as much as has arrived. A complete request is queued. */
static void read_on(struct http_connection *connection)
{
        struct evbuffer *input = connection->input;

        if (connection->phase == HTTP_IDLE) {
                if (!evbuffer_get_length(input))
                        return;
                enter_phase(connection, HTTP_HEAD, config_of(connection)->request_timeout_ns);
        }
        if (connection->phase == HTTP_HEAD &&
            (!take_head(connection, input) || !begin_body(connection)))
                return;
        if (connection->phase != HTTP_BODY ||
            evbuffer_get_length(input) < connection->request.body_bytes)
                return;
        enter_phase(connection, HTTP_READY, 0);
        http_queue_add(connection);
}

/* Stops reading while a request waits or a long answer is sent. A peer that sends faster then only
 * fills its own socket buffers. */
static void look_or_wait(struct http_connection *connection)
{
        if (connection->phase == HTTP_READY || connection->phase == HTTP_LEAVING)
                event_del(connection->readable);
        else
                event_add(connection->readable, NULL);
}

/* Receives bytes into `input`. Returns their number, or the error of receive_plain(). */
static ssize_t receive_bytes(struct http_connection *connection, int fd)
{
        struct evbuffer_iovec room;
        ssize_t got;

        if (evbuffer_reserve_space(connection->input, READ_MAX, &room, 1) != 1)
                return -ENOMEM;
        got = receive_plain(fd, room.iov_base, READ_MAX);
        room.iov_len = got > 0 ? (size_t)got : 0;
        evbuffer_commit_space(connection->input, &room, 1);
        return got;
}

/* Handles the end of the peer's bytes. An incomplete request will never be complete, so the
 * connection ends; an answer that is being sent has time until its deadline. */
static void end_reading(struct http_connection *connection)
{
        const bool is_leaving = connection->phase == HTTP_CLOSING ||
                                (connection->phase == HTTP_IDLE && waiting(connection));

        if (!is_leaving) {
                http_connection_end(connection);
                return;
        }
        event_del(connection->readable);
        enter_phase(connection, HTTP_CLOSING, config_of(connection)->request_timeout_ns);
}

/* Whether the connection rests (peers_rests()). Root and the daemon's owner never rest. */
static bool rests(const struct http_connection *connection)
{
        return !connection->peer.is_owner && peers_rests(connection->counted, clock_machine_ns());
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
        struct http_connection *connection = context;
        const uint64_t begin_ns = peers_call_begin();
        const ssize_t got = rests(connection) ? -EBUSY : receive_bytes(connection, fd);

        peers_call_end(connection->counted, begin_ns, clock_machine_ns());
        if (got == -EAGAIN || got == -EINTR)
                return;
        if (got < 0) {
                http_connection_end(connection);
        } else if (got == 0) {
                end_reading(connection);
        } else if (connection->phase >= HTTP_STREAM) {
                evbuffer_drain(connection->input, evbuffer_get_length(connection->input));
        } else {
                read_on(connection);
                look_or_wait(connection);
        }
}

/* Copies the body. False: out of memory, and the request was answered with that. */
static bool take_body(struct http_connection *connection, char **ret)
{
        size_t bytes = connection->request.body_bytes;

        *ret = bytes ? malloc(bytes) : NULL;
        if (bytes && !*ret) {
                http_refuse(connection, 503, "out of memory");
                return false;
        }
        evbuffer_remove(connection->input, *ret, bytes);
        return true;
}

void http_connection_serve(struct http_connection *connection)
{
        scoped_free char *body = NULL;

        if (take_body(connection, &body) &&
            answer_request(connection, body, connection->request.body_bytes))
                read_on(connection);
        look_or_wait(connection);
}

static void on_written(struct http_connection *connection)
{
        if (connection->phase == HTTP_CLOSING) {
                drain_connection(connection);
        } else if (connection->phase == HTTP_LEAVING) {
                enter_phase(connection, HTTP_IDLE, config_of(connection)->idle_timeout_ns);
                read_on(connection);
                look_or_wait(connection);
        }
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
        struct http_connection *connection = context;
        const uint64_t begin_ns = peers_call_begin();
        const bool is_resting = rests(connection);
        const int sent = is_resting ? -1 : evbuffer_write(connection->output, fd);
        const bool is_full = !is_resting && sent < 0 && (errno == EAGAIN || errno == EINTR);

        peers_call_end(connection->counted, begin_ns, clock_machine_ns());
        if (sent < 0 && !is_full)
                http_connection_end(connection);
        else if (waiting(connection))
                event_add(connection->writable, NULL);
        else
                on_written(connection);
}

static void on_output(struct evbuffer *output, const struct evbuffer_cb_info *change, void *context)
{
        const struct http_connection *connection = context;

        if (change->n_added)
                event_add(connection->writable, NULL);
}

/* -- Accepting -------------------------------------------------------------------------------- */

static bool prepare_connection(struct http_connection *connection, int fd)
{
        struct event_base *base = connection->http->options.base;
        int on = 1;

        connection->fd = fd;
        connection->input = evbuffer_new();
        connection->output = evbuffer_new();
        connection->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, connection);
        connection->writable = event_new(base, fd, EV_WRITE, on_writable, connection);
        if (!connection->input || !connection->output || !connection->readable ||
            !connection->writable || !evbuffer_add_cb(connection->output, on_output, connection))
                return false;
        if (!connection->peer.is_local)
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        return event_add(connection->readable, NULL) == 0;
}

void http_accept(struct http *http, int fd, const struct http_peer *peer,
                 const struct peer_key *key)
{
        const struct peers_rate rate = http_rate(http);
        struct http_connection *connection = calloc(1, sizeof(*connection));
        struct peer *counted =
                connection ? peers_enter(&http->peers, key, &rate, clock_machine_ns()) : NULL;

        if (!counted) {
                free(connection);
                http_close(http, fd, peer->is_local, NULL);
                return;
        }
        connection->http = http;
        connection->peer = *peer;
        connection->counted = counted;
        if (rests(connection) || !http_make_room(http, connection) ||
            !prepare_connection(connection, fd)) {
                peers_leave(counted);
                free_connection(connection);
                http_close(http, fd, peer->is_local, counted);
                return;
        }
        enter_phase(connection, HTTP_IDLE, http->options.config->idle_timeout_ns);
        TAILQ_INSERT_TAIL(&http->connections, connection, entry);
        http->count++;
        http->owner_count += peer->is_owner;
}
