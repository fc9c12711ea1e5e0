/* SPDX-License-Identifier: Apache-2.0 */
#include "story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 16384

static char said[TEXT_BYTES];

void say(const char *format, ...)
{
        size_t used = strlen(said);
        va_list args;

        va_start(args, format);
        vsnprintf(said + used, TEXT_BYTES - used, format, args);
        va_end(args);
}

size_t story_length(void)
{
        return strlen(said);
}

void story_cut(size_t length)
{
        said[length] = '\0';
}

static void line_split(struct story_line *ret, const char *text, size_t bytes)
{
        char *rest = NULL;

        assert_true(bytes < sizeof(ret->copy));
        memcpy(ret->copy, text, bytes);
        ret->copy[bytes] = '\0';
        ret->count = 0;
        for (char *at = strtok_r(ret->copy, " ", &rest); at; at = strtok_r(NULL, " ", &rest)) {
                assert_true(ret->count < STORY_WORDS);
                ret->word[ret->count++] = at;
        }
        for (unsigned i = ret->count; i < STORY_WORDS; i++)
                ret->word[i] = "";
}

void story_play(const char *text, void (*play)(const struct story_line *line))
{
        story_cut(0);
        for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
                size_t bytes = strcspn(at, "\n");
                struct story_line line;

                assert_true(at[bytes] == '\n');
                if (at[0] == ' ')
                        continue;
                say("%.*s\n", (int)bytes, at);
                line_split(&line, at, bytes);
                play(&line);
        }
        assert_string_equal(said, text);
}
