/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as JSON, and as the JSON alias of the memory limits: an end within as many tokens as
 * there are bytes, brackets that match, and limits only where there is a whole number.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "settings/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_true)
{
        if (!is_true)
                abort();
}

static void walk(const char *text, size_t size)
{
        struct json_token token;
        struct json json;
        int depth = 0;
        char string[64];
        uint64_t value;

        json_begin(&json, text, size);
        for (size_t i = 0; i <= size + 1; i++) {
                if (json_next(&json, &token, NULL) < 0)
                        return;
                must(token.at >= text && token.at + token.length <= text + size);
                depth += token.kind == JSON_OBJECT || token.kind == JSON_ARRAY;
                depth -= token.kind == JSON_OBJECT_END || token.kind == JSON_ARRAY_END;
                must(depth >= 0 && depth <= (int)JSON_DEPTH);
                if (token.kind == JSON_KEY || token.kind == JSON_STRING)
                        if (json_text(&token, string, sizeof(string), NULL) == 0)
                                must(strlen(string) < sizeof(string));
                if (token.kind == JSON_NUMBER)
                        json_whole(&token, &value, NULL);
                if (token.kind == JSON_END) {
                        must(depth == 0);
                        return;
                }
        }
        abort(); /* more tokens than bytes */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const char stem[] = "TENSOR_FUSION_CUDA_MEM_LIMIT=";
        char *text = malloc(sizeof(stem) + size);
        char *environment[] = { text, NULL };
        struct settings settings;

        memcpy(text, stem, sizeof(stem) - 1);
        memcpy(text + sizeof(stem) - 1, data, size);
        text[sizeof(stem) - 1 + size] = '\0';
        walk(text + sizeof(stem) - 1, size);
        if (settings_read(&settings, environment, NULL) == 0) {
                must(settings.is_asked && settings.memory.count > 0);
                for (unsigned i = 0; i < settings.memory.count; i++)
                        must(settings.memory.rule[i].size.bytes != 0);
        }
        free(text);
        return 0;
}
