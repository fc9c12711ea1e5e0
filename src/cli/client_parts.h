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
#define CLIENT_ANSWER_MS 10000L /* that an answer gets */

/* Format of JSON: a decimal of up to 15 digits stays as it was read, 33.3 and not
 * 33.299999999999997. */
#define CLIENT_JSON (JSON_COMPACT | JSON_REAL_PRECISION(15))

/* One request and its answer. */
struct call {
        const struct store *store;
        const char *method;
        char url[CLIENT_URL_BYTES];
        json_t *body;     /* owned; NULL: none */
        uint64_t version; /* 0: any */
        long patience_ms; /* for the answer; 0: as long as anybody waits */
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

/* An empty object for a body. If memory runs out while it is filled, client_perform() fails. */
json_t *client_object(void);

/* What a wish is as the body of a request; `seen`: whose labels it is merged into, or NULL. */
json_t *client_wish_body(const struct client_session *seen, const struct client_wish *wish);

/* An answer that somebody waits for. */
struct client_vigil {
        const struct store *store;
        uint64_t began_ns; /* clock_machine_ns() */
        bool is_told;
};

/* A connection on its way to libcurl; client_socket.c says why. */
struct client_reach {
        uint64_t most_ms;           /* maximum time until the daemon accepts it */
        struct client_vigil *vigil; /* tells the user about the wait; NULL: no message */
        int connected, stand_in;    /* for libcurl 7.88; the latter is libcurl's */
};

#define CLIENT_REACH(vigil)                      \
        {                                        \
                CLIENT_CONNECT_MS, vigil, -1, -1 \
        }

void client_end_reach(struct client_reach *reach);

#define scoped_reach __attribute__((cleanup(client_end_reach)))

/* A handle for the socket, whatever proxies the environment names; `reach` must live as long. NULL:
 * out of memory. */
CURL *client_open_socket(const struct store *store, const char *url, struct client_reach *reach);

/* For libcurl: adds to call->text. */
size_t client_take(char *bytes, size_t size, size_t count, void *call);

/* A member of a JSON object; "" or 0 if there is none. */
const char *client_text(const json_t *object, const char *key);
uint64_t client_whole(const json_t *object, const char *key);

/* How long the wait has lasted; after a second it is reported once. */
uint64_t client_waited_ms(struct client_vigil *vigil);

/* In a line on stderr that the daemon is waited for, and for how long at most. */
void client_tell_waiting(const struct store *store, long most_ms);

/* The error for a refusal by the daemon; client_away(): for no answer. */
int client_refusal(const struct call *call, struct error *err);
int client_away(const struct store *store, const char *why, struct error *err);

#endif
