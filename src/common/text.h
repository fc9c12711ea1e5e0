/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small things with text that libc does only by locale or only with the heap.
 *
 * A struct text is a bounded buffer that is written from left to right, always terminated; what
 * did not fit is remembered in `is_cut`, to be asked once at the end.
 */
#ifndef ALIQUOT_COMMON_TEXT_H
#define ALIQUOT_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

struct text {
        char *at; /* borrowed */
        size_t bytes;
        size_t used;
        bool is_cut;
};

/* Starts an empty text in a buffer of at least one byte. */
void text_begin(struct text *text, char *buffer, size_t bytes);
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One formatted path or name into `ret`; -ENAMETOOLONG if it does not fit. */
int text_put(char *ret, size_t bytes, struct error *err, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* ASCII only, whatever the locale. */
char text_lower(char c);
bool text_is_digit(char c);
bool text_is_hex(char c);
bool text_is_same(const char *a, const char *b);              /* whatever the case */
bool text_begins(const char *text, const char *lower_prefix); /* whatever the case of `text` */

/* Length of the UTF-8 sequence at `at`, 0 when it is none (overlong, surrogate, cut short). */
unsigned text_utf8(const char *at);

/* ASCII's control characters, DEL among them. */
bool text_is_control(char c);

/* Whether all of it is UTF-8 without control characters. */
bool text_is_plain(const char *text);

/* `text` with every character that could disturb a terminal or a log shown as '?', cut with "..."
 * when longer than the buffer: for quoting what a stranger wrote. Returns `ret`. */
const char *text_quote(const char *text, char *ret, size_t bytes);

/* `text` for a message, in a buffer of the caller's block. */
#define TEXT_QUOTE_BYTES 96
#define text_shown(text) text_quote((text), (char[TEXT_QUOTE_BYTES]){ 0 }, TEXT_QUOTE_BYTES)

#endif
