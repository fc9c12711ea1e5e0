/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the client.
 *
 *      scoped_call struct call call = { .store = store, .method = "GET" };
 *
 *      rc = client_start_call(&call, err, "/v1/sessions/%s", name);
 *      if (rc == 0)
 *              rc = client_perform(&call, err);        // then call.answer
 */
#ifndef ALIQUOT_CLI_CLIENT_PARTS_H
#define ALIQUOT_CLI_CLIENT_PARTS_H

#include <curl/curl.h>
#include <jansson.h>

#include "cli/client.h"

#define CLIENT_URL_BYTES 512u
#define CLIENT_CONNECT_MS UINT64_C(5000)
#define CLIENT_ANSWER_MS 10000L /* default timeout for a response */

/* How JSON is written: a decimal of up to 15 digits stays as it was read, 33.3 and not
 * 33.299999999999997. */
#define CLIENT_JSON (JSON_COMPACT | JSON_REAL_PRECISION(15))

/* One request and its response. */
struct call {
        const struct store *store;
        const char *method;
        char url[CLIENT_URL_BYTES];
        json_t *body;     /* owned; NULL: none */
        uint64_t version; /* the version that the session must have; 0: any */
        long patience_ms; /* timeout for the response; 0: the default */
        long status;
        char *text; /* owned */
        size_t length;
        json_t *answer; /* owned; NULL: none */
};

int client_start_call(struct call *call, struct error *err, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
int client_perform(struct call *call, struct error *err);
void client_end_call(struct call *call);

#define scoped_call __attribute__((cleanup(client_end_call)))

/* Creates an empty object for a body. If memory runs out while it is filled, client_perform()
 * fails. */
json_t *client_object(void);

/* Makes the body of a request from a wish (what a command requests, see client.h). `seen`: the
 * session with whose labels those of the wish are merged, or NULL. */
json_t *client_wish_body(const struct client_session *seen, const struct client_wish *wish);

/* The state of a wait for a response, which is reported to the user once when it takes long. */
struct client_vigil {
        const struct store *store;
        uint64_t began_ns; /* start of the wait, by clock_machine_ns() */
        bool is_told;
};

/* A connection that is being made for libcurl; client_socket.c explains why. */
struct client_reach {
        uint64_t max_ms;            /* maximum time until the daemon accepts the connection */
        struct client_vigil *vigil; /* reports the wait to the user; NULL: no report */
        /* descriptors, needed for libcurl 7.88 only; libcurl owns stand_in */
        int connected, stand_in;
};

#define CLIENT_REACH(vigil)                      \
        {                                        \
                CLIENT_CONNECT_MS, vigil, -1, -1 \
        }

void client_end_reach(struct client_reach *reach);

#define scoped_reach __attribute__((cleanup(client_end_reach)))

/* Returns a libcurl handle for the daemon's socket, which ignores the environment's proxies.
 * `reach` must live as long as the handle. NULL: out of memory. */
CURL *client_open_socket(const struct store *store, const char *url, struct client_reach *reach);

/* Callback for libcurl: appends to call->text. */
size_t client_take(char *bytes, size_t size, size_t count, void *call);

/* Return a member of a JSON object; "" or 0 if there is none. */
const char *client_text(const json_t *object, const char *key);
uint64_t client_whole(const json_t *object, const char *key);

/* Returns how long the wait has lasted. After a second, reports it once. */
uint64_t client_waited_ms(struct client_vigil *vigil);

/* Prints a line on stderr: the command waits for the daemon, for `max_ms` at most. */
void client_tell_waiting(const struct store *store, long max_ms);

/* client_refusal() makes the error for a refusal by the daemon, client_away() for no response. */
int client_refusal(const struct call *call, struct error *err);
int client_away(const struct store *store, const char *why, struct error *err);

#endif
