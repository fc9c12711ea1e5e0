/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: ours first and once, everybody else's kept in order.
 */
#include "cli/preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define OURS "/opt/libaliquot.so"

static void expect(const char *before, const char *after)
{
        char *edited = preload_edit(before, OURS, NULL);

        assert_string_equal(edited, after);
        free(edited);
}

static void ours_comes_first(void **state)
{
        expect(NULL, OURS);
        expect("", OURS);
        expect("/lib/a.so", OURS ":/lib/a.so");
}

static void others_keep_their_order_whatever_parts_them(void **state)
{
        expect("/lib/a.so:/lib/b.so", OURS ":/lib/a.so:/lib/b.so");
        expect("  /lib/a.so \t/lib/b.so::", OURS ":/lib/a.so:/lib/b.so");
}

static void nothing_grows_over_repeated_runs(void **state)
{
        expect(OURS ":/lib/a.so", OURS ":/lib/a.so");
        expect("/lib/a.so:" OURS, OURS ":/lib/a.so");
        expect(OURS " " OURS, OURS);
}

static void the_same_file_by_another_path_is_ours_too(void **state)
{
        char folder[] = "/tmp/aliquot-test-XXXXXX";
        char file[64], link_path[64];
        char *edited;

        assert_non_null(mkdtemp(folder));
        snprintf(file, sizeof(file), "%s/a.so", folder);
        snprintf(link_path, sizeof(link_path), "%s/b.so", folder);
        fclose(fopen(file, "w"));
        assert_int_equal(symlink("a.so", link_path), 0);
        edited = preload_edit(link_path, file, NULL);
        assert_string_equal(edited, file);
        free(edited);
        unlink(link_path);
        unlink(file);
        rmdir(folder);
}

static void a_path_that_the_loader_would_split_is_refused(void **state)
{
        struct error err;

        assert_null(preload_edit(NULL, "/opt/a b/libaliquot.so", &err));
        assert_non_null(strstr(err.text, "install it elsewhere"));
        assert_null(preload_edit(NULL, "/opt/a:b/libaliquot.so", NULL));
        assert_null(preload_edit(NULL, "/opt/$LIB/libaliquot.so", NULL));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ours_comes_first),
                cmocka_unit_test(others_keep_their_order_whatever_parts_them),
                cmocka_unit_test(nothing_grows_over_repeated_runs),
                cmocka_unit_test(the_same_file_by_another_path_is_ours_too),
                cmocka_unit_test(a_path_that_the_loader_would_split_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
