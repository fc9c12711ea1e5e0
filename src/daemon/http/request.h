/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the head of an HTTP request strictly: the part of RFC 9110 and 9112 that this server
 * needs.
 *
 *      status = request_parse(head, length, &request, &err)    // 0, or the status to answer with
 *
 * `head` ends with the empty line; it is written to (texts are terminated in place), and the
 * request points into it. Anything that two parsers could read differently is refused: folded
 * lines, bare line feeds, spaces before a colon, two lengths, chunks. Pure.
 */
#ifndef ALIQUOT_DAEMON_HTTP_REQUEST_H
#define ALIQUOT_DAEMON_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define REQUEST_HEADERS 64u

struct request_header {
        const char *name; /* as sent */
        const char *value;
};

struct request {
        const char *method;
        char *path;  /* begins with '/', still encoded */
        char *query; /* behind '?', still encoded; "" if there is none */
        bool is_old; /* HTTP/1.0 */
        bool keeps_alive;
        bool awaits_continue;
        uint64_t body_bytes;
        unsigned count;
        struct request_header header[REQUEST_HEADERS];
};

int request_parse(char *head, size_t length, struct request *ret, struct error *err);

/* The value of a header; NULL: the request does not have it. */
const char *request_header(const struct request *request, const char *name);

/* Decodes %XX (and, in a query, '+') in place; false for an invalid one, or for NUL. */
bool request_decode(char *text, bool is_query);

/* Takes the next "name=value" off a query, decoded; false at its end. For a pair that cannot be
 * decoded *ret_name is NULL. */
bool request_next_pair(char **query, char **ret_name, char **ret_value);

/* Whether a Host cannot be a name that leads elsewhere tomorrow: a number, or localhost. */
bool request_is_local_host(const char *host);

#endif
