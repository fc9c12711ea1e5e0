/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and compares a token: a shared secret from a file, for changes over TCP and for joins
 * through a session's socket.
 *
 *      token_read(path, TOKEN_MIN, &token, &err)  // at the start, and on reload
 *      token_is(&token, said, bytes)              // for each request
 *
 * The file must belong to the daemon's user or to root; others can neither read nor write it, and
 * its group cannot write it. Its content, less one newline at the end, is the token: `least` to
 * TOKEN_MAX visible ASCII characters. Other content is refused; the message never contains the
 * token, and the caller keeps its old token.
 */
#ifndef ALIQUOT_DAEMON_BASE_TOKEN_H
#define ALIQUOT_DAEMON_BASE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define TOKEN_MIN 16u /* long enough that it cannot be guessed */
#define TOKEN_MAX 4096u

struct token {
        size_t length;
        char text[TOKEN_MAX]; /* not terminated */
};

/* Reads the token from a file. -EPERM: wrong owner or mode. -EINVAL: invalid content. Also the
 * errors of open() and read(). */
int token_read(const char *path, size_t least, struct token *ret, struct error *err);

/* Copies the token from a text, which may have 1 character. `origin` names its source in messages.
 * -EINVAL: invalid content. */
int token_take(const char *text, const char *origin, struct token *ret, struct error *err);

/* Compares `said` with the token. Takes a time that depends only on the token's length. Always
 * false if the token is empty. */
bool token_is(const struct token *token, const char *said, size_t length);

/* Overwrites the token in memory. */
void token_wipe(struct token *token);

#endif
