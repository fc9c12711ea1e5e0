/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the HTTP server; no other file includes it.
 *
 * http.c has the listeners, the limits on connections, and the timer that ends connections.
 * http_connection.c reads requests and moves a connection from phase to phase. http_queue.c decides
 * the order of requests. http_reply.c writes answers.
 */
#ifndef ALIQUOT_DAEMON_HTTP_HTTP_PARTS_H
#define ALIQUOT_DAEMON_HTTP_HTTP_PARTS_H

#include <event2/buffer.h>
#include <event2/listener.h>
#include <sys/queue.h>

#include "daemon/base/peers.h"
#include "daemon/http/http.h"

/* HTTP_WAITING_MAX: while more bytes wait for the reader of an answer, the next request on its
 * connection is not served. HTTP_STREAM_MAX: if more bytes wait for the reader of a stream, it is
 * disconnected. */
#define HTTP_WAITING_MAX (256u << 10)
#define HTTP_STREAM_MAX (1u << 20)
#define HTTP_DRAIN_NS UINT64_C(1000000000)
#define HTTP_HEADERS_BYTES 2048u

enum http_phase {
        HTTP_IDLE,    /* no byte of the next request has arrived */
        HTTP_HEAD,    /* part of the head has arrived */
        HTTP_BODY,    /* the head has arrived, and the body is read */
        HTTP_READY,   /* all of it has arrived; it waits to be served, and nothing more is read */
        HTTP_LEAVING, /* a long answer is being sent, and nothing more is read */
        HTTP_STREAM,
        HTTP_CLOSING,  /* closes as soon as the answer was sent */
        HTTP_DRAINING, /* closed for sending; further bytes from the peer are discarded */
};

struct http_connection {
        TAILQ_ENTRY(http_connection) entry;
        struct http *http;
        int fd;
        struct event *readable, *writable;
        struct evbuffer *input, *output; /* `input` is received without descriptors (receive.h) */
        struct http_peer peer;
        struct peer *counted;
        enum http_phase phase;
        uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: no deadline */
        char *head;           /* head of the request; `request` points into it */
        struct request request;
        struct fair_request queued; /* entry in the queue while HTTP_READY */
        char *headers;              /* headers set so far for the next answer */
        bool is_replied;
        http_gone *gone;
        void *gone_context;
};

TAILQ_HEAD(http_connections, http_connection);

struct http_queue {
        struct event *event;        /* serves one request in each turn */
        struct fair owners, others; /* requests of owners (peer.is_owner), and of all other peers */
        bool was_owner;             /* the last request served was an owner's */
};

struct http {
        struct http_options options;
        struct evconnlistener *local, *tcp;
        char local_path[128];
        uint64_t local_device, local_inode; /* device and inode of the socket at local_path */
        int local_trouble;                  /* last error about that socket that was logged */
        struct event *clock, *accept_again;
        /* connections accepted in this turn of the event loop */
        unsigned accepted;
        /* in order of their last answer or accept, the oldest first */
        struct http_connections connections;
        /* number of connections; those of owners (peer.is_owner) */
        unsigned count, owner_count;
        struct peers peers;
        struct http_queue queue;
};

struct peers_rate http_rate(const struct http *http);

/* http.c: closes an accepted socket or a listening one. `counted`: the peer of the accepted socket,
 * or NULL. */
void http_close(struct http *http, int fd, bool is_local, const struct peer *counted);

/* http.c: makes room for this connection, which is already counted for its peer; false: there is
 * none. */
bool http_make_room(struct http *http, const struct http_connection *newcomer);

/* http_connection.c: connections. */
void http_accept(struct http *http, int fd, const struct http_peer *peer,
                 const struct peer_key *key);
void http_connection_expire(struct http_connection *connection);
/* Serves the request of a connection that is HTTP_READY. */
void http_connection_serve(struct http_connection *connection);

/* http_queue.c: http_queue_add() queues the connection's request, for which
 * http_connection_serve() is called when it is next. */
int http_queue_start(struct http *http, struct error *err);
void http_queue_stop(struct http *http);
void http_queue_add(struct http_connection *connection);
/* Removes the connection's request from the queue; does nothing if it is not queued. */
void http_queue_remove(struct http_connection *connection);

/* http_reply.c: answers with an error before there is a request; the connection then ends. */
void http_refuse(struct http_connection *connection, unsigned status, const char *why);

#endif
