/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an environment comes to, in canonical words, or that it is refused.
 */
#ifndef TESTS_UNIT_SETTINGS_FIXTURE_H
#define TESTS_UNIT_SETTINGS_FIXTURE_H

#include <string.h>

#include "settings/settings.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* The canonical text of what these variables ask for. */
#define expect_asked(expected, ...) expect_asked_in((char *[]){ __VA_ARGS__, NULL }, expected)

static inline void expect_asked_in(char *const *environment, const char *expected)
{
        struct settings settings;
        struct error err = { 0 };
        char text[SETTINGS_CANONICAL_BYTES];

        if (settings_read(&settings, environment, &err) < 0)
                fail_msg("%s... was refused: %s", environment[0], err.text);
        assert_int_equal(settings_canonical(&settings, text, NULL), 0);
        assert_string_equal(text, expected);
}

#define read_env(ret, err, ...) settings_read(ret, (char *[]){ __VA_ARGS__, NULL }, err)

/* These variables are refused: the line holds both words, and nothing was read. */
#define expect_refused(first, second, ...) \
        expect_refused_in((char *[]){ __VA_ARGS__, NULL }, first, second)

static inline void expect_refused_in(char *const *environment, const char *first,
                                     const char *second)
{
        struct settings settings;
        struct settings before;
        struct error err = { 0 };
        int rc;

        memset(&settings, 0x5a, sizeof(settings));
        memcpy(&before, &settings, sizeof(settings));
        rc = settings_read(&settings, environment, &err);
        if (rc >= 0)
                fail_msg("%s was accepted", environment[0]);
        assert_int_equal(rc, err.code);
        if (!strstr(err.text, first) || !strstr(err.text, second))
                fail_msg("expected '%s' and '%s' in: %s", first, second, err.text);
        assert_null(strchr(err.text, '\n'));
        assert_memory_equal(&settings, &before, sizeof(settings));
}

#endif
