/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text functions that libc offers only with a locale or only with the heap.
 *
 * A struct text is a buffer of fixed size that is filled from left to right and always terminated.
 * If text did not fit, `is_cut` is set, so one check at the end is enough.
 */
#ifndef ALIQUOT_COMMON_TEXT_H
#define ALIQUOT_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct text {
        char *at;     /* the buffer; borrowed */
        size_t bytes; /* size of the buffer */
        size_t used;  /* length of the text, without the NUL */
        bool is_cut;  /* text did not fit */
};

/* Starts an empty text in a buffer of at least one byte. */
void text_begin(struct text *text, char *buffer, size_t bytes);
/* Appends formatted text. */
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Formats one path or name into `ret`; -ENAMETOOLONG if it does not fit. */
int text_put(char *ret, size_t bytes, struct error *err, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Returns the lower-case form of an ASCII letter, in any locale; any other `c` is
 * returned unchanged. */
char text_lower(char c);
bool text_is_digit(char c);
bool text_is_hex(char c);
bool text_is_same(const char *a, const char *b);              /* ignores case */
bool text_begins(const char *text, const char *lower_prefix); /* ignores the case of `text` */

/* Returns the length of the UTF-8 sequence at `at`; 0: it is invalid (overlong, surrogate,
 * cut short). */
unsigned text_utf8(const char *at);

/* Returns the code point of a sequence; `length` is what text_utf8() returned for it, and not 0. */
uint32_t text_point(const char *at, unsigned length);

/* Whether a character could disturb a terminal or deceive a reader. These are control characters
 * (also U+0080 to U+009F), and characters that change the direction of writing or have no width
 * (Unicode's Bidi_Control and Default_Ignorable_Code_Point except variation selectors, and the two
 * line separators). */
bool text_is_hidden(uint32_t point);

/* Replaces each byte that is not UTF-8 or is part of a hidden character (text_is_hidden()) with
 * '?', for displaying untrusted text. The length does not change. */
void text_hide(char *text);

/* Whether `c` is an ASCII control character, including DEL. */
bool text_is_control(char c);

/* Whether the whole text is UTF-8 without control characters. */
bool text_is_plain(const char *text);

/* Copies `text` for quoting untrusted text in a message, with '?' for every character that
 * could disturb a terminal or a log. If longer than the buffer, it is cut and ends in "...".
 * Returns `ret`. */
const char *text_quote(const char *text, char *ret, size_t bytes);

/* text_quote() into a temporary buffer of the enclosing block. */
#define TEXT_QUOTE_BYTES 96
#define text_shown(text) text_quote((text), (char[TEXT_QUOTE_BYTES]){ 0 }, TEXT_QUOTE_BYTES)

#endif
