/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared secret that changes over TCP must bring, or who joins by a socket, from a file.
 *
 *      token_read(path, TOKEN_LEAST, &token, &err)     once, and again on reload
 *      token_is(&token, said, bytes)           of each request
 *
 * The file belongs to us or to root, others can neither read nor write it and its group cannot
 * write it; what it holds, less one newline at the end, is the token: `least` to TOKEN_MOST
 * visible ASCII characters. Whatever else is refused with a sentence that never repeats the token,
 * and the caller keeps the token that it had.
 */
#ifndef ALIQUOT_DAEMON_BASE_TOKEN_H
#define ALIQUOT_DAEMON_BASE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

#define TOKEN_LEAST 16u /* what takes too long to guess */
#define TOKEN_MOST 4096u

struct token {
        size_t length;
        char text[TOKEN_MOST]; /* not terminated */
};

/* -EPERM: its owner or mode; -EINVAL: what it holds; else open's and read's. */
int token_read(const char *path, size_t least, struct token *ret, struct error *err);

/* The same of a text that `origin` says; of 1 character or more. */
int token_take(const char *text, const char *origin, struct token *ret, struct error *err);

/* How long it takes tells nothing about the token but its length. Never true of an empty token. */
bool token_is(const struct token *token, const char *said, size_t length);

/* Overwrites the token, so that it is in memory no more. */
void token_wipe(struct token *token);

#endif
