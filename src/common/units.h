/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses and prints sizes, percentages and durations, in exact integer arithmetic and the same in
 * every locale.
 *
 * A size is a number of bytes ("4GiB", "1.5g", "2000000") or a part of the card ("37.5%"), which
 * becomes bytes once the card is known. A fraction of a larger unit is rounded down to a whole
 * byte. A value that is malformed, negative, zero, a fraction of a byte or beyond 64 bits is
 * refused with a sentence that quotes the text and says what was expected. No value is clipped or
 * read as zero.
 */
#ifndef ALIQUOT_COMMON_UNITS_H
#define ALIQUOT_COMMON_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* a part of a card is rounded down to a multiple of this */
#define SIZE_GRAIN_BYTES (UINT64_C(2) << 20)
#define SIZE_MICRO_PERCENT_MAX 100000000u /* 100 % */
#define SIZE_TEXT_BYTES 32u

/* A size as the user gave it. Exactly one of the two fields is not 0. */
struct size {
        uint64_t bytes;
        uint32_t micro_percent; /* millionths of a percent of the card */
};

static inline bool size_is_same(const struct size *a, const struct size *b)
{
        return a->bytes == b->bytes && a->micro_percent == b->micro_percent;
}

/* Parses a size with one of the units B, KiB..TiB, Ki..Ti and K..T (binary), KB..TB (decimal), %,
 * or none (bytes); any case. */
int size_parse(const char *text, struct size *ret, struct error *err);

/* As size_parse(), for a value that a user typed: refuses a number below 1 MiB without a unit,
 * which was hardly meant as bytes. */
int size_parse_typed(const char *text, struct size *ret, struct error *err);

/* Parses the syntax of several older systems: an integer and a suffix; all suffixes are binary. */
int bytes_parse_binary(const char *text, uint64_t *ret, struct error *err);

/* Parses as bytes_parse_binary(), or a product of plain integers such as "(1024 * 1024 * 10)". */
int bytes_parse_product(const char *text, uint64_t *ret, struct error *err);

/* Computes the bytes of `size` on a card of `card_bytes`. If the card's size is unknown (0), only a
 * size in bytes succeeds. */
int size_resolve(const struct size *size, uint64_t card_bytes, uint64_t *ret, struct error *err);

/* Parses a percentage of 0 to 100 such as "50", "50%" or "12.5 %", into millionths of a percent. */
int percent_parse(const char *text, uint32_t *ret_micro_percent, struct error *err);

/* Parses a duration such as "250ms", "30s", "30" (seconds), "5m", "1.5h", "2d" or "1h30m", into
 * nanoseconds. 0 is refused. */
int duration_parse(const char *text, uint64_t *ret_ns, struct error *err);

#define DURATION_TEXT_BYTES 24u

/* Formats a duration for display in its two largest units: "12s", "3m05s", "2h07m", "5d01h". Parts
 * of a second are dropped. */
const char *duration_format(uint64_t ns, char ret[DURATION_TEXT_BYTES]);

/* Formats a size for display: "4 GiB", "1.50 GiB", "512 B". A whole number of units has
 * no fraction. */
const char *size_format(uint64_t bytes, char ret[SIZE_TEXT_BYTES]);

/* Writes a size in its canonical form: "4294967296" or "37.5%". size_parse() reads it back to the
 * same value. */
const char *size_canonical(const struct size *size, char ret[SIZE_TEXT_BYTES]);

#endif
