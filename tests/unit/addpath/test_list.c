/* SPDX-License-Identifier: Apache-2.0 */
/* Lists are edited entry by entry: adding twice is adding once, and what was there stays. */
#include "addpath/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void expect_edit(struct list_edit edit, const char *expected)
{
        char *text, *again;

        if (!edit.separators)
                edit.separators = ":";
        text = malloc(list_edit_size(&edit));
        list_edit(&edit, text);
        assert_string_equal(text, expected);

        /* Every rule below holds under this one: the same edit of its own result changes nothing.
         */
        edit.target = text;
        again = malloc(list_edit_size(&edit));
        list_edit(&edit, again);
        assert_string_equal(again, expected);
        free(again);
        free(text);
}

static void behind(const char *target, const char *value, const char *expected)
{
        expect_edit((struct list_edit){ .target = target, .value = value }, expected);
}

static void in_front(const char *target, const char *value, const char *expected)
{
        expect_edit((struct list_edit){ .target = target, .value = value, .is_front = true },
                    expected);
}

static void an_unset_target_becomes_the_value(void **state)
{
        behind(NULL, "/a", "/a");
        in_front(NULL, "/a:/b", "/a:/b");
}

static void an_empty_target_gains_no_stray_separator(void **state)
{
        behind("", "/a", "/a");
        in_front("", "/a", "/a");
}

static void new_entries_go_to_the_end_or_to_the_front(void **state)
{
        behind("/a:/b", "/c:/d", "/a:/b:/c:/d");
        in_front("/a:/b", "/c:/d", "/c:/d:/a:/b");
}

static void behind_an_entry_already_there_stays_where_it_is(void **state)
{
        behind("/a:/b", "/a", "/a:/b");
        behind("/a:/b", "/b:/c:/a", "/a:/b:/c");
}

static void in_front_an_entry_already_there_moves(void **state)
{
        in_front("/a:/b", "/b", "/b:/a");
        in_front("/a:/b:/c:/d", "/d:/b", "/d:/b:/a:/c");
        in_front("/b:/a:/b", "/b", "/b:/a");
}

static void repeated_entries_of_the_value_count_once(void **state)
{
        behind("/x", "/a:/b:/a", "/x:/a:/b");
        in_front("/x", "/a:/b:/a", "/a:/b:/x");
}

static void a_part_of_an_entry_is_not_the_entry(void **state)
{
        behind("/usr/local/bin", "/usr/local", "/usr/local/bin:/usr/local");
        behind("/usr/local", "/usr/local/bin", "/usr/local:/usr/local/bin");
        in_front("/bin/", "/bin", "/bin:/bin/");
}

static void empty_entries_are_never_added(void **state)
{
        behind("/a", ":/b::", "/a:/b");
        in_front("/a", ":", "/a");
        behind("", ":::", "");
}

static void the_targets_own_empty_entries_stay(void **state)
{
        behind("/a:", "/b", "/a::/b");
        behind(":/a", "/a", ":/a");
        in_front(":/a", "/b", "/b::/a");
        in_front("/a::/b", "/b", "/b:/a:");
}

static void a_preload_list_is_split_at_spaces_too(void **state)
{
        const char *separators = ": ";

        expect_edit((struct list_edit){ "a.so b.so", "b.so", separators, false }, "a.so b.so");
        expect_edit((struct list_edit){ "a.so b.so", "c.so b.so", separators, false },
                    "a.so b.so:c.so");
        expect_edit((struct list_edit){ "a.so b.so c.so", "c.so", separators, true },
                    "c.so:a.so b.so");
        expect_edit((struct list_edit){ "/my dir/bin", "/dir", ":", false }, "/my dir/bin:/dir");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_unset_target_becomes_the_value),
                cmocka_unit_test(an_empty_target_gains_no_stray_separator),
                cmocka_unit_test(new_entries_go_to_the_end_or_to_the_front),
                cmocka_unit_test(behind_an_entry_already_there_stays_where_it_is),
                cmocka_unit_test(in_front_an_entry_already_there_moves),
                cmocka_unit_test(repeated_entries_of_the_value_count_once),
                cmocka_unit_test(a_part_of_an_entry_is_not_the_entry),
                cmocka_unit_test(empty_entries_are_never_added),
                cmocka_unit_test(the_targets_own_empty_entries_stay),
                cmocka_unit_test(a_preload_list_is_split_at_spaces_too),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
