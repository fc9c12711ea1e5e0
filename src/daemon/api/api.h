/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP API: routes requests, and decides what each client may do.
 *
 *      api_start(&api, &options, &err)
 *      http_start(.handler = api_handle, .done = api_done, .context = api)
 *
 * There is one table of routes; openapi.json describes the same routes, and a test compares the
 * two. On the socket the kernel identifies the client: root and the daemon's own user are
 * administrators; other users see and change their own sessions. Over TCP a client that sends the
 * token is an administrator, and others can only read. Every refusal is problem+json (RFC 9457),
 * and names the field that caused it.
 */
#ifndef ALIQUOT_DAEMON_API_API_H
#define ALIQUOT_DAEMON_API_API_H

#include "daemon/base/token.h"
#include "daemon/http/http.h"
#include "daemon/node/node.h"
#include "daemon/tenant/tenant.h"

struct http_api;

struct api_options {
        struct scheduler *scheduler;
        struct swapper *swapper;
        struct event_base *base;
        struct node *node;
        struct tenants *tenants;
        const struct config *config; /* borrowed, read at each use */
        /* borrowed, read at each use; length 0: nobody is an administrator over TCP */
        const struct token *token;
};

int api_start(struct http_api **ret, const struct api_options *options, struct error *err);
void api_stop(struct http_api *api);

http_handler api_handle; /* both get the struct http_api as `context` */
http_handler api_done;

/* Sets the server whose connections the metrics count. */
void api_set_http(struct http_api *api, const struct http *http);

#endif
