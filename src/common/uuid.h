/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats and parses the driver's 16-byte UUIDs of GPUs and MIG instances.
 *
 * The text is GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx (or MIG-...), lower case, in byte order.
 * Parsing accepts upper and lower case. Functions that match a prefix accept it with or without
 * GPU- or MIG-.
 */
#ifndef ALIQUOT_COMMON_UUID_H
#define ALIQUOT_COMMON_UUID_H

#include <stdbool.h>
#include <stdint.h>

#define UUID_TEXT_BYTES 41u /* "GPU-" + 36 + NUL */
/* number of characters of the text that displays use to distinguish cards */
#define UUID_SHOWN 12

/* Writes the text of a GPU's UUID, or of a MIG instance's, and returns `ret`. */
const char *uuid_format(const uint8_t uuid[16], bool is_instance, char ret[UUID_TEXT_BYTES]);

/* Parses a whole UUID with its GPU- or MIG-; false for any other text. */
bool uuid_parse(const char *text, uint8_t ret[16]);

/* Whether `text` could be a prefix of a UUID's text: hexadecimal digits, and dashes in the
 * right places. */
bool uuid_is_prefix(const char *text);

/* Whether `text` is a prefix of the text of `uuid`. */
bool uuid_matches(const uint8_t uuid[16], bool is_instance, const char *text);

#endif
