/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the head of an HTTP request strictly: the part of RFC 9110 and 9112 that this server
 * needs.
 *
 *      status = request_parse(head, length, &request, &err)    // 0, or the status to answer with
 *
 * `head` ends with the empty line. It is modified, because its texts are terminated in place, and
 * the request points into it. Anything that two parsers could understand differently is refused:
 * folded lines, bare line feeds, spaces before a colon, two lengths, chunks. No function has state.
 */
#ifndef ALIQUOT_DAEMON_HTTP_REQUEST_H
#define ALIQUOT_DAEMON_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define REQUEST_HEADERS 64u

struct request_header {
        const char *name; /* as the client sent it */
        const char *value;
};

struct request {
        const char *method;
        char *path;  /* begins with '/'; not yet decoded */
        char *query; /* what follows '?', not yet decoded; "": there is no '?' */
        bool is_old; /* the client uses HTTP/1.0 */
        bool keeps_alive;
        bool awaits_continue;
        uint64_t body_bytes;
        unsigned count;
        struct request_header header[REQUEST_HEADERS];
};

int request_parse(char *head, size_t length, struct request *ret, struct error *err);

/* Returns the value of a header; NULL: the request does not have it. */
const char *request_header(const struct request *request, const char *name);

/* Decodes %XX in place, and '+' if is_query. False: a code is invalid, or stands for a zero
 * byte. */
bool request_decode(char *text, bool is_query);

/* Removes the next "name=value" from a query and decodes it. False: there is none. *ret_name is
 * NULL if the pair cannot be decoded. */
bool request_next_pair(char **query, char **ret_name, char **ret_value);

/* Whether a Host header is an address or "localhost", and so not a name that could resolve to
 * another address later (DNS rebinding). */
bool request_is_local_host(const char *host);

#endif
