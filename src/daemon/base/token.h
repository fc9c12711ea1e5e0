/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared secret, from a file, for changes over TCP and for joins by socket.
 *
 *      token_read(path, TOKEN_MIN, &token, &err)     once, and again on reload
 *      token_is(&token, said, bytes)           for each request
 *
 * The file must belong to the daemon's user or to root; others can neither read nor write it, and
 * its group cannot write it. Its content, less one newline at the end, is the token: `least` to
 * TOKEN_MAX visible ASCII characters. Anything else is refused with a message that never repeats
 * the token, and the caller keeps its old token.
 */
#ifndef ALIQUOT_DAEMON_BASE_TOKEN_H
#define ALIQUOT_DAEMON_BASE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define TOKEN_MIN 16u /* too long to be guessed */
#define TOKEN_MAX 4096u

struct token {
        size_t length;
        char text[TOKEN_MAX]; /* not terminated */
};

/* -EPERM: wrong owner or mode; -EINVAL: invalid content; else the errors of open and read. */
int token_read(const char *path, size_t least, struct token *ret, struct error *err);

/* The same of a text that `origin` says; of 1 character or more. */
int token_take(const char *text, const char *origin, struct token *ret, struct error *err);

/* Its run time depends only on the length of the token. Never true for an empty token. */
bool token_is(const struct token *token, const char *said, size_t length);

/* Overwrites the token in memory. */
void token_wipe(struct token *token);

#endif
