/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of `aliquot env`: a shell that reads them has the variables as they are.
 */
#include "cli/exports.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define TEXT_BYTES 512

/* What a shell that has read the lines says is in ALIQUOT_TEST. */
static void read_by_shell(const struct exports *exports, char ret[TEXT_BYTES])
{
        char path[] = "/tmp/aliquot-test-XXXXXX", command[TEXT_BYTES];
        int fd = mkstemp(path);
        FILE *lines, *said;

        assert_true(fd >= 0);
        lines = fdopen(fd, "w");
        exports_print(exports, lines);
        assert_int_equal(fclose(lines), 0);
        snprintf(command, sizeof(command), ". %s && printf '%%s' \"${ALIQUOT_TEST-unset}\"", path);
        said = popen(command, "r");
        assert_non_null(said);
        ret[fread(ret, 1, TEXT_BYTES - 1, said)] = '\0';
        assert_int_equal(pclose(said), 0);
        unlink(path);
}

static struct export entry(const char *name, const char *value)
{
        return (struct export){ (char *)name, (char *)value };
}

static void what_is_printed_is_read_by_a_shell_as_it_was(void **state)
{
        static const char *const values[] = {
                "plain", "", "two words", "it's", "''", "$HOME `id` \"quoted\" \\", "*", "a\nb; c",
        };
        char read[TEXT_BYTES];

        for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
                struct exports exports = { .count = 1 };

                exports.entry[0] = entry("ALIQUOT_TEST", values[i]);
                read_by_shell(&exports, read);
                assert_string_equal(read, values[i]);
        }
}

static void what_is_taken_away_is_unset(void **state)
{
        struct exports exports = { .count = 1, .entry = { entry("ALIQUOT_TEST", NULL) } };
        char read[TEXT_BYTES];

        setenv("ALIQUOT_TEST", "before", 1);
        read_by_shell(&exports, read);
        assert_string_equal(read, "unset");
}

static void a_name_is_printed_once_as_it_was_said_last(void **state)
{
        struct exports exports = { .count = 3,
                                   .entry = { entry("ALIQUOT_TEST", NULL), entry("OTHER", "1"),
                                              entry("ALIQUOT_TEST", "set") } };
        char text[TEXT_BYTES] = "";
        FILE *lines = fmemopen(text, sizeof(text), "w");

        exports_print(&exports, lines);
        assert_int_equal(fclose(lines), 0);
        assert_string_equal(text, "export OTHER=1\nexport ALIQUOT_TEST=set\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_printed_is_read_by_a_shell_as_it_was),
                cmocka_unit_test(what_is_taken_away_is_unset),
                cmocka_unit_test(a_name_is_printed_once_as_it_was_said_last),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
