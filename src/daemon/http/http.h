/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 server on libevent, for few and small messages from possibly hostile peers.
 *
 *      http_start(&http, &options, &err)
 *      http_listen_unix() / http_listen_tcp()
 *      ... the handler is called once for each complete request, and answers before it returns:
 *              http_reply(), or http_stream() for an answer that goes on
 *      http_stop(http)
 *
 * One request is served in a turn of the event loop; the peer whose requests took the least time
 * comes first. So a peer waits for at most one request of each other peer, however many requests
 * and connections that peer has.
 *
 * The peer is known before a byte is read: the user on the socket (from the kernel), the address on
 * TCP. These are bounded: connections in total and of each peer, the size of head and body, the
 * time for a request to arrive, for its answer to leave, and between two requests, and the bytes
 * that wait for a slow reader. An error ends only its own connection; if an answer is possible, it
 * is problem+json (RFC 9457).
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

/* Format of JSON: a decimal of up to 15 digits stays as it was read, 33.3 and not
 * 33.299999999999997. */
#define HTTP_JSON (JSON_COMPACT | JSON_REAL_PRECISION(15))

struct http;
struct http_connection;

struct http_peer {
        bool is_local; /* on the socket: uid and pid are the kernel's word */
        bool is_owner; /* is_local, and root or the user that the daemon runs as */
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
        const char *route; /* the handler may set it: a class for metrics; static text */
        unsigned status;   /* of the answer */
};

typedef void http_handler(struct http_exchange *exchange, void *context);

struct http_options {
        struct event_base *base;
        struct sink *sink;           /* borrowed */
        const struct config *config; /* borrowed; read at each use, so a reload takes effect */
        http_handler *handler;       /* answers each request */
        /* called after each answer, also to a request that never reached the handler */
        http_handler *done;
        void *context;
};

int http_start(struct http **ret, const struct http_options *options, struct error *err);
/* Whether http_listen_unix() could listen there, as far as config and path tell. */
int http_check_path(const char *path, struct error *err);
int http_check_group(const struct config *config, struct error *err);
/* Lets those connect to the socket at `path` whom [socket] allows. */
int http_admit(const struct config *config, const char *path, struct error *err);
int http_listen_unix(struct http *http, const char *path, struct error *err);
/* Checks whether the socket is still in its place; if not, listens there again, and logs that. */
void http_look(struct http *http);
/* The port in the end, where 0 was asked for. */
int http_listen_tcp(struct http *http, const struct address *address, unsigned *ret_port,
                    struct error *err);
/* Stops the server; answers that can leave at once still leave. */
void http_stop(struct http *http);

/* Of a local peer: see peers_groups(). */
const uint32_t *http_groups(const struct http_exchange *exchange, unsigned *ret_count);

/* A header of the answer to come; name and value are copied. */
void http_header(struct http_exchange *exchange, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Answers the request. A HEAD gets the headers alone. */
void http_reply(struct http_exchange *exchange, unsigned status, const char *type, const char *body,
                size_t length);

/* A text that many answers share while each leaves at its reader's pace. Takes over `text`,
 * allocated by malloc(); NULL: out of memory, and `text` was freed. */
struct http_shared;
struct http_shared *http_share(char *text, size_t length);
void http_shared_drop(
        struct http_shared *shared); /* drops the caller's reference; NULL is allowed */
void http_reply_shared(struct http_exchange *exchange, unsigned status, const char *type,
                       struct http_shared *shared);

/* The answer as JSON; takes the reference. NULL: out of memory, and that is the answer. */
void http_reply_json(struct http_exchange *exchange, unsigned status, json_t *json);

/* Answers with a problem of the kind `type` ("no-room"), with the title of the kind or of the
 * status, and further members (NULL, or taken over). */
void http_problem(struct http_exchange *exchange, unsigned status, const char *type, json_t *more,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Begins an answer without an end. `gone` is called when the connection ends, for any reason. */
typedef void http_gone(void *context);
void http_stream(struct http_exchange *exchange, const char *type, http_gone *gone, void *context);

/* Sends more of it. A reader with too many unread bytes is disconnected: `gone` was called, and the
 * result is false. */
bool http_send(struct http_connection *connection, const char *text, size_t length);

/* Whether the connection's reader keeps up, so that more may be sent. */
bool http_has_room(struct http_connection *connection);

/* Ends a connection; of a stream, `gone` is called. */
void http_connection_end(struct http_connection *connection);

unsigned http_connection_count(const struct http *http);

#endif
