/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of one run of a fuzzer, taken one after the other. Behind the last one there are zeros.
 */
#ifndef ALIQUOT_TEST_FUZZ_INPUT_H
#define ALIQUOT_TEST_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* libFuzzer calls it once for each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Borrowed from libFuzzer for the run. */
static struct {
        const uint8_t *data;
        size_t left;
} input;

static inline void input_begin(const uint8_t *data, size_t size)
{
        input.data = data;
        input.left = size;
}

static inline uint8_t next_byte(void)
{
        if (input.left == 0)
                return 0;
        input.left--;
        return *input.data++;
}

/* Of eight bytes. */
static inline uint64_t next_number(void)
{
        uint64_t number = 0;

        for (unsigned i = 0; i < sizeof(number); i++)
                number = number << 8 | next_byte();
        return number;
}

static inline void check(bool is_so)
{
        if (!is_so)
                abort();
}

#endif
