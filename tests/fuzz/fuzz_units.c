/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as an amount: refused with a line, or a value that reads back to itself; never zero,
 * never more than the card it is a part of.
 */
#include "common/units.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_true)
{
        if (!is_true)
                abort();
}

static void try_size(const char *text)
{
        char canonical[SIZE_TEXT_BYTES], shown[SIZE_TEXT_BYTES];
        const uint64_t card = UINT64_C(16) << 30;
        struct error err = { 0 };
        struct size parsed, again;
        uint64_t bytes;

        if (size_parse(text, &parsed, &err) < 0) {
                must(err.code < 0 && err.text[0] && !strchr(err.text, '\n'));
                return;
        }
        must((parsed.bytes != 0) != (parsed.micro_percent != 0));
        size_format(parsed.bytes, shown);
        must(size_parse(size_canonical(&parsed, canonical), &again, NULL) == 0);
        must(again.bytes == parsed.bytes && again.micro_percent == parsed.micro_percent);
        if (size_resolve(&parsed, card, &bytes, NULL) == 0)
                must(bytes && bytes <= card);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char text[256];
        uint64_t value = 0;
        uint32_t micro;

        if (size >= sizeof(text))
                return 0;
        memcpy(text, data, size);
        text[size] = '\0';
        try_size(text);
        if (bytes_parse_binary(text, &value, NULL) == 0)
                must(value != 0);
        value = 0;
        if (bytes_parse_product(text, &value, NULL) == 0)
                must(value != 0);
        value = 0;
        if (duration_parse(text, &value, NULL) == 0)
                must(value != 0);
        if (percent_parse(text, &micro, NULL) == 0)
                must(micro <= SIZE_MICRO_PERCENT_MAX);
        return 0;
}
