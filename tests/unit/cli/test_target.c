/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line behind "#!": which program will run, as the kernel and env read it.
 */
#include "cli/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct {
        const char *line;
        const char *program;
} lines[] = {
        { "/bin/sh", "/bin/sh" },
        { " /bin/sh -e\n", "/bin/sh" },
        { "/bin/sh\r\nrest", "/bin/sh" },
        { "\t/usr/bin/perl -w -T\n", "/usr/bin/perl" },
        { "interpreter\n", "./interpreter" },
        { "/usr/bin/env python3\n", "python3" },
        { "/usr/bin/env  python3  \n", "python3" },
        { "/usr/bin/env /opt/python\n", "/opt/python" },
        { "/usr/bin/env -S python3 -u\n", "python3" },
        { "/usr/bin/env -S A=1 B=2 python3\n", "python3" },
        { "/usr/bin/env -S -u HOME -i python3 -c x\n", "python3" },
        { "/usr/bin/env -S -C /tmp python3\n", "python3" },
        { "/usr/bin/env -Spython3 -u\n", "python3" },
        /* Nothing that env could be seen to look for: then env is what runs. */
        { "/usr/bin/env\n", "/usr/bin/env" },
        { "/usr/bin/env -i\n", "/usr/bin/env" },
        { "/usr/bin/env -S A=1\n", "/usr/bin/env" },
};

static void the_program_behind_a_script_is_found(void **state)
{
        for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
                char program[PATH_MAX] = "";

                assert_true(target_read_shebang(lines[i].line, program));
                assert_string_equal(program, lines[i].program);
        }
}

static void a_line_without_a_program_is_none(void **state)
{
        char program[PATH_MAX];

        assert_false(target_read_shebang("", program));
        assert_false(target_read_shebang("  \t\n/bin/sh", program));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_program_behind_a_script_is_found),
                cmocka_unit_test(a_line_without_a_program_is_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
