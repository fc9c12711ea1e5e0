/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats and parses the driver's 16-byte UUIDs of GPUs and MIG instances.
 *
 * Text is GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx (or MIG-...), lower case, in byte order. Parsing
 * accepts any case, and any prefix of that text with or without its GPU- or MIG-.
 */
#ifndef ALIQUOT_COMMON_UUID_H
#define ALIQUOT_COMMON_UUID_H

#include <stdbool.h>
#include <stdint.h>

#define UUID_TEXT_BYTES 41u /* "GPU-" + 36 + NUL */
#define UUID_SHOWN 12       /* characters of it that are enough to tell cards apart */

const char *uuid_format(const uint8_t uuid[16], bool is_instance, char ret[UUID_TEXT_BYTES]);

/* A whole UUID with its GPU- or MIG-; false for anything else. */
bool uuid_parse(const char *text, uint8_t ret[16]);

/* Whether `text` could be a prefix of a UUID's text: hexadecimal digits and dashes in place. */
bool uuid_is_prefix(const char *text);

/* Whether `text` is a prefix of this UUID's text. */
bool uuid_matches(const uint8_t uuid[16], bool is_instance, const char *text);

#endif
