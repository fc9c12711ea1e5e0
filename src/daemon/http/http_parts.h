/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the HTTP server; no other file includes it.
 *
 * http.c has the listeners, the limits and the clock; http_connection.c a connection's life;
 * http_queue.c the order of requests; http_reply.c the answers.
 */
#ifndef ALIQUOT_DAEMON_HTTP_HTTP_PARTS_H
#define ALIQUOT_DAEMON_HTTP_HTTP_PARTS_H

#include <event2/buffer.h>
#include <event2/listener.h>
#include <sys/queue.h>

#include "daemon/base/peers.h"
#include "daemon/http/http.h"

/* Maximum of bytes that wait for a reader before the next request is served; a reader of a stream
 * is disconnected at this. */
#define HTTP_WAITING_MAX (256u << 10)
#define HTTP_STREAM_MAX (1u << 20)
#define HTTP_DRAIN_NS UINT64_C(1000000000)
#define HTTP_HEADERS_BYTES 2048u

enum http_phase {
        HTTP_IDLE,    /* nothing of a request is here */
        HTTP_HEAD,    /* part of its head has arrived */
        HTTP_BODY,    /* its head has arrived */
        HTTP_READY,   /* all of it has arrived, and it waits to be served; nothing more is read */
        HTTP_LEAVING, /* its answer has not left, and it is long */
        HTTP_STREAM,
        HTTP_CLOSING,  /* as soon as the answer has left */
        HTTP_DRAINING, /* closed on our side; further bytes of the peer are discarded */
};

struct http_connection {
        TAILQ_ENTRY(http_connection) entry;
        struct http *http;
        int fd;
        struct event *readable, *writable;
        struct evbuffer *input, *output; /* received without descriptors: receive.h */
        struct http_peer peer;
        struct peer *counted;
        enum http_phase phase;
        uint64_t deadline_ns; /* monotonic; 0: no deadline */
        char *head;           /* of the request being read, which points into it */
        struct request request;
        struct fair_request queued; /* while HTTP_READY */
        char *headers;              /* of the answer, those set so far */
        bool is_replied;
        http_gone *gone;
        void *gone_context;
};

TAILQ_HEAD(http_connections, http_connection);

struct http_queue {
        struct event *event;        /* serves one request */
        struct fair owners, others; /* of owners the peer is_owner */
        bool was_owner;             /* the last request was the owner's */
};

struct http {
        struct http_options options;
        struct evconnlistener *local, *tcp;
        char local_path[128];
        uint64_t local_device, local_inode; /* identify the socket in it */
        int local_trouble;                  /* the last error logged about it */
        struct event *clock, *accept_again;
        unsigned accepted;                   /* in this turn of the event loop */
        struct http_connections connections; /* the longest idle first */
        unsigned count, owner_count;         /* of owner_count the peer is_owner */
        struct peers peers;
        struct http_queue queue;
};

struct peers_rate http_rate(const struct http *http);

/* http.c: closes an accepted or a listening socket. `counted`: its peer, or NULL. */
void http_close(struct http *http, int fd, bool is_local, const struct peer *counted);

/* http.c: whether there is room for this connection, which its peer counts already. */
bool http_make_room(struct http *http, const struct http_connection *newcomer);

/* http_connection.c */
void http_accept(struct http *http, int fd, const struct http_peer *peer,
                 const struct peer_key *key);
void http_connection_expire(struct http_connection *connection);
/* Serves the request of the connection that is ready. */
void http_connection_serve(struct http_connection *connection);

/* http_queue.c: a request waits until http_connection_serve() is called for it. */
int http_queue_start(struct http *http, struct error *err);
void http_queue_stop(struct http *http);
void http_queue_add(struct http_connection *connection);
void http_queue_remove(
        struct http_connection *connection); /* does nothing for one that does not wait */

/* http_reply.c: for errors before there is a request; the connection then ends. */
void http_refuse(struct http_connection *connection, unsigned status, const char *why);

#endif
