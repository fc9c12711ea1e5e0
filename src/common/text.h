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
#include <stdint.h>

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

/* The lower-case form of an ASCII letter, whatever the locale; else `c`. */
char text_lower(char c);
bool text_is_digit(char c);
bool text_is_hex(char c);
bool text_is_same(const char *a, const char *b);              /* whatever the case */
bool text_begins(const char *text, const char *lower_prefix); /* whatever the case of `text` */

/* Length of the UTF-8 sequence at `at`, 0 when it is none (overlong, surrogate, cut short). */
unsigned text_utf8(const char *at);

/* The code point of what text_utf8() found to be `length` bytes, not 0. */
uint32_t text_point(const char *at, unsigned length);

/* A character that could disturb a terminal or deceive a reader: control characters (also U+0080 to
 * U+009F), and what turns the direction of writing or has no width (Unicode's Bidi_Control and
 * Default_Ignorable_Code_Point but variation selectors, and the two separators of lines). */
bool text_is_hidden(uint32_t point);

/* Writes '?' over each byte that is not UTF-8 or is part of a hidden character: for showing what a
 * stranger wrote. The length stays. */
void text_hide(char *text);

/* Whether `c` is one of ASCII's control characters, DEL among them. */
bool text_is_control(char c);

/* Whether the whole text is UTF-8 without control characters. */
bool text_is_plain(const char *text);

/* `text` with every character that could disturb a terminal or a log shown as '?', cut with "..."
 * when longer than the buffer: for quoting what a stranger wrote. Returns `ret`. */
const char *text_quote(const char *text, char *ret, size_t bytes);

/* `text` for a message, in a buffer of the caller's block. */
#define TEXT_QUOTE_BYTES 96
#define text_shown(text) text_quote((text), (char[TEXT_QUOTE_BYTES]){ 0 }, TEXT_QUOTE_BYTES)

#endif
