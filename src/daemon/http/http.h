/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP/1.1 server on libevent, for few and small messages from peers that may be hostile.
 *
 *      http_start(&http, &options, &err)
 *      http_listen_unix() / http_listen_tcp()
 *      ... the handler is called once for each whole request, and answers before it returns:
 *              http_reply(), or http_stream() for an answer that goes on
 *      http_stop(http)
 *
 * One request is served in a turn of the event loop, and peers are served by the time that their
 * requests take: a peer waits for at most one request of each other peer, however many requests
 * they send on however many connections.
 *
 * Whoever connects is known before a byte is read: the user on the socket (the kernel says so), an
 * address on TCP. What is bounded: connections in all and of each peer, the size of head and body,
 * the time for a request to arrive, for its answer to leave, between two requests, and the bytes
 * waiting for a slow reader. Whatever goes wrong with one connection ends that connection; where an
 * answer is possible it is problem+json (RFC 9457).
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

/* How JSON is written: a decimal of up to 15 digits as it was read, 33.3 and not
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
        unsigned status;   /* what was answered */
};

typedef void http_handler(struct http_exchange *exchange, void *context);

struct http_options {
        struct event_base *base;
        struct sink *sink;           /* borrowed */
        const struct config *config; /* borrowed; read anew at each use, so a reload counts */
        http_handler *handler;       /* answers each request */
        http_handler *done;          /* after each answer, also of what never reached the handler */
        void *context;
};

int http_start(struct http **ret, const struct http_options *options, struct error *err);
/* Whether http_listen_unix() could listen there, as far as config and path tell. */
int http_check_path(const char *path, struct error *err);
int http_check_group(const struct config *config, struct error *err);
/* Lets those connect to the socket at `path` whom [socket] allows. */
int http_admit(const struct config *config, const char *path, struct error *err);
int http_listen_unix(struct http *http, const char *path, struct error *err);
/* Looks whether the socket is still in its place; listens there anew if not, and logs that. */
void http_look(struct http *http);
/* The port in the end, where 0 was asked for. */
int http_listen_tcp(struct http *http, const struct address *address, unsigned *ret_port,
                    struct error *err);
/* What was answered leaves if it can do so at once. */
void http_stop(struct http *http);

/* Of a local peer: see peers_groups(). */
const uint32_t *http_groups(const struct http_exchange *exchange, unsigned *ret_count);

/* A header of the answer to come; name and value are copied. */
void http_header(struct http_exchange *exchange, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Answers the request. A HEAD gets the headers alone. */
void http_reply(struct http_exchange *exchange, unsigned status, const char *type, const char *body,
                size_t length);

/* A text that many answers share, also while each leaves at its reader's pace. Takes `text`, which
 * is of malloc(); NULL: out of memory, and it was freed. */
struct http_shared;
struct http_shared *http_share(char *text, size_t length);
void http_shared_drop(struct http_shared *shared); /* for who shared it; NULL: nothing */
void http_reply_shared(struct http_exchange *exchange, unsigned status, const char *type,
                       struct http_shared *shared);

/* The answer as JSON; takes the reference. NULL: out of memory, and that is the answer. */
void http_reply_json(struct http_exchange *exchange, unsigned status, json_t *json);

/* A problem of the kind `type` ("no-room"), with the title that the kind or the status has, and
 * what else there is to say (NULL, or taken). */
void http_problem(struct http_exchange *exchange, unsigned status, const char *type, json_t *more,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Begins an answer without an end. `gone` is called when the connection ends, whoever ends it. */
typedef void http_gone(void *context);
void http_stream(struct http_exchange *exchange, const char *type, http_gone *gone, void *context);

/* More of it. A reader that has let too much pile up is cut off: `gone` was called, and false. */
bool http_send(struct http_connection *connection, const char *text, size_t length);

/* Whether the connection's reader keeps up, so that more may be sent. */
bool http_has_room(struct http_connection *connection);

/* Ends a connection; of a stream, `gone` is called. */
void http_connection_end(struct http_connection *connection);

unsigned http_connection_count(const struct http *http);

#endif
