/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an environment comes to, in canonical words.
 */
#ifndef TESTS_UNIT_SETTINGS_FIXTURE_H
#define TESTS_UNIT_SETTINGS_FIXTURE_H

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

#endif
