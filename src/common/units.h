/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses and prints sizes, percentages and durations, in exact integer arithmetic and the same in
 * every locale.
 *
 * A size is a count of bytes ("4GiB", "1.5g", "2000000") or a part of the card ("37.5%"), which
 * becomes bytes once the card is known. A fraction of a larger unit is rounded down to a whole
 * byte. A value that is malformed, negative, zero, a fraction of plain bytes or beyond 64 bits is
 * refused with a sentence that quotes the text and names what was expected; no value is clipped or
 * taken for zero.
 */
#ifndef ALIQUOT_COMMON_UNITS_H
#define ALIQUOT_COMMON_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define SIZE_GRAIN_BYTES (UINT64_C(2) << 20) /* a part of a card is rounded down to this */
#define SIZE_MICRO_PERCENT_MAX 100000000u    /* 100 % */
#define SIZE_TEXT_BYTES 32u

/* A size as given; exactly one of the two is not 0. */
struct size {
        uint64_t bytes;
        uint32_t micro_percent; /* millionths of a percent of the card */
};

static inline bool size_is_same(const struct size *a, const struct size *b)
{
        return a->bytes == b->bytes && a->micro_percent == b->micro_percent;
}

/* B, KiB..TiB, Ki..Ti and K..T (binary), KB..TB (decimal), no unit = bytes, or %; any case. */
int size_parse(const char *text, struct size *ret, struct error *err);

/* The same for typed input: refuses a number without a unit below 1 MiB, hardly meant as bytes. */
int size_parse_typed(const char *text, struct size *ret, struct error *err);

/* The syntax of several older systems: an integer and a suffix, every suffix binary. */
int bytes_parse_binary(const char *text, uint64_t *ret, struct error *err);

/* The same, or a product of plain integers, as in "(1024 * 1024 * 1024 * 10)". */
int bytes_parse_product(const char *text, uint64_t *ret, struct error *err);

/* Bytes of `size` on a card of `card_bytes` (0: unknown, then only a size in bytes succeeds). */
int size_resolve(const struct size *size, uint64_t card_bytes, uint64_t *ret, struct error *err);

/* "50", "50%", "12.5 %": millionths of a percent, 0..100 %. */
int percent_parse(const char *text, uint32_t *ret_micro_percent, struct error *err);

/* "250ms", "30s", "30" (seconds), "5m", "1.5h", "2d", "1h30m": nanoseconds, never 0. */
int duration_parse(const char *text, uint64_t *ret_ns, struct error *err);

#define DURATION_TEXT_BYTES 24u

/* For people, in the two largest units: "12s", "3m05s", "2h07m", "5d01h"; whole seconds only. */
const char *duration_format(uint64_t ns, char ret[DURATION_TEXT_BYTES]);

/* For people: "4 GiB", "1.50 GiB", "512 B". Exact values print without a fraction. */
const char *size_format(uint64_t bytes, char ret[SIZE_TEXT_BYTES]);

/* For machines: "4294967296" or "37.5%"; size_parse() reads it back to the same value. */
const char *size_canonical(const struct size *size, char ret[SIZE_TEXT_BYTES]);

#endif
