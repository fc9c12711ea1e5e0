/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 server on libevent, for few, small messages from peers that may be hostile.
 *
 *      http_start(&http, &options, &err)
 *      http_listen_unix() / http_listen_tcp()
 *      ... the handler is called once for each complete request. Before it returns it calls
 *              http_reply(), or http_stream() for an answer that has no end
 *      http_stop(http)
 *
 * In each turn of the event loop one request is served: that of the peer whose requests have taken
 * the least time so far. So a peer waits for at most one request of each other peer, however many
 * requests and connections that peer has.
 *
 * The peer is known before a byte is read: on the socket it is a user, as the kernel reports; on
 * TCP it is an address. The server limits the number of connections in total and of each peer; the
 * size of head and body; the time for a request to arrive, for an answer to be sent, and between
 * two requests; and the bytes that wait for a slow reader. An error ends only the connection on
 * which it occurs; if an answer is possible, it is problem+json (RFC 9457).
 *
 * docs/decisions/005 says why this is not libevent's own HTTP server. One thread.
 */
#ifndef ALIQUOT_DAEMON_HTTP_HTTP_H
#define ALIQUOT_DAEMON_HTTP_HTTP_H

#include <event2/event.h>
#include <jansson.h>
#include <stdarg.h>

#include "common/error.h"
#include "daemon/base/address.h"
#include "daemon/base/sink.h"
#include "daemon/config/config.h"
#include "daemon/http/request.h"

/* How JSON is written: a decimal number of up to 15 digits is written as it was read, for example
 * 33.3 and not 33.299999999999997. */
#define HTTP_JSON (JSON_COMPACT | JSON_REAL_PRECISION(15))

struct http;
struct http_connection;

struct http_peer {
        bool is_local; /* connected to the socket; uid, gid and pid are from the kernel */
        bool is_owner; /* is_local, and the user is root or the daemon's own */
        uint32_t uid, gid;
        int32_t pid;
};

/* One request and its answer, valid until the handler returns. */
struct http_exchange {
        struct http_connection *connection;
        const struct request *request;
        const struct http_peer *peer;
        const char *body;
        size_t body_bytes;
        /* class of the request for metrics, static text; the handler may set it */
        const char *route;
        unsigned status; /* status of the answer */
};

typedef void http_handler(struct http_exchange *exchange, void *context);

struct http_options {
        struct event_base *base;
        struct sink *sink;           /* closes sockets of local peers; borrowed */
        const struct config *config; /* borrowed; read at each use, so a reload takes effect */
        http_handler *handler;       /* answers each request */
        /* called after each answer, even if the request never reached the handler */
        http_handler *done;
        void *context;
};

int http_start(struct http **ret, const struct http_options *options, struct error *err);
/* http_check_path() and http_check_group() make checks that http_listen_unix() makes too, for use
 * before the start. 0 or -errno. The first checks that the path is short enough for a socket; the
 * second that the group in socket.group exists, or is a number. */
int http_check_path(const char *path, struct error *err);
int http_check_group(const struct config *config, struct error *err);
/* Gives the socket at `path` the group and mode of the section [socket], which decide who can
 * connect. */
int http_admit(const struct config *config, const char *path, struct error *err);
int http_listen_unix(struct http *http, const char *path, struct error *err);
/* Checks whether the socket is still at its path. If it is not, listens there again and logs
 * that. */
void http_look(struct http *http);
/* Listens on a TCP address. *ret_port is the port, which the kernel chooses if address has port
 * 0. */
int http_listen_tcp(struct http *http, const struct address *address, unsigned *ret_port,
                    struct error *err);
/* Stops the server. Bytes of answers that can be sent without waiting are still sent. */
void http_stop(struct http *http);

/* Returns the groups of a local peer; see peers_groups(). */
const uint32_t *http_groups(const struct http_exchange *exchange, unsigned *ret_count);

/* Adds a header to the answer that follows; name and value are copied. */
void http_header(struct http_exchange *exchange, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Answers the request. The answer to a HEAD request has no body. */
void http_reply(struct http_exchange *exchange, unsigned status, const char *type, const char *body,
                size_t length);

/* A text that several answers share while each is sent at its reader's pace. http_share() takes
 * over `text`, allocated by malloc(). NULL: out of memory, and `text` was freed. */
struct http_shared;
struct http_shared *http_share(char *text, size_t length);
/* Drops the caller's reference; `shared` may be NULL. */
void http_shared_drop(struct http_shared *shared);
void http_reply_shared(struct http_exchange *exchange, unsigned status, const char *type,
                       struct http_shared *shared);

/* Answers with `json`, and takes over its reference. If `json` is NULL, answers that the server is
 * out of memory. */
void http_reply_json(struct http_exchange *exchange, unsigned status, json_t *json);

/* Answers with problem+json: `type` is the kind of problem (such as "no-room"), from which the
 * title is made; `more` has further members (NULL: none), and is taken over. */
void http_problem(struct http_exchange *exchange, unsigned status, const char *type, json_t *more,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Begins an answer that has no end. `gone` is called when the connection ends, for any reason. */
typedef void http_gone(void *context);
void http_stream(struct http_exchange *exchange, const char *type, http_gone *gone, void *context);

/* Sends more of an http_stream() answer. If too many bytes wait for the reader, the connection is
 * ended: `gone` was called, and the result is false. */
bool http_send(struct http_connection *connection, const char *text, size_t length);

/* Whether the bytes that wait for the reader are few enough to send more. */
bool http_has_room(struct http_connection *connection);

/* Ends a connection; `gone` of its stream is called. */
void http_connection_end(struct http_connection *connection);

unsigned http_connection_count(const struct http *http);

#endif
