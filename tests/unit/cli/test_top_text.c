/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of others on the screens of `aliquot top`: as it was written where the terminal can show it,
 * each character as wide as it is, and nothing in it is done to the terminal.
 */
#include "test_top_scene.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void text_that_is_no_ascii_disturbs_nothing(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        snprintf(scene.node.snapshot.device[0].name, 96, "\033[2J\xc3\xa4\n");
        scene_draw(&scene, 24, 80);
        for (int i = 0; i < 80; i++)
                assert_in_range(grid_at(&scene.grid, 2, i)->character, ' ', '~');
        scene_end(&scene);
}

static void text_of(const struct scene *scene, int row, char *ret)
{
        for (int i = 0; i < scene->grid.columns; i++) {
                uint32_t character = grid_at(&scene->grid, row, i)->character;

                if (character)
                        ret += grid_encode(character, ret);
        }
        *ret = '\0';
        while (ret[-1] == ' ')
                *--ret = '\0';
}

/* Each as wide as it is on the terminal; what could disturb one is told, not done. */
static void labels_are_shown_as_they_were_written(void **state)
{
        static const char *const shown[] = {
                "      o=J\xc3\xbcrgen \xe6\xbc\xa2\xe5\xad\x97=\xf0\x9f\x98\x80 a\\x1b[2J "
                "b\\u009b c\\xff\\xc3 e",
                "      o=J?rgen ?\?=? a\\x1b[2J b? c\\xff\\xc3 e?",
        };
        char text[512];
        struct scene scene;

        assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
        scene_begin(&scene);
        scene.node.session[2].left_seconds = -1;
        snprintf(scene.node.session[2].labels, 128,
                 "o=J\xc3\xbcrgen \xe6\xbc\xa2\xe5\xad\x97=\xf0\x9f\x98\x80 a\033[2J "
                 "b\xc2\x9b c\xff\xc3 e\xcc\x81");
        scene_press(&scene, 'a');
        for (unsigned i = 0; i < 2; i++) {
                scene.grid.is_utf8 = i == 0;
                scene_draw(&scene, 17, 90);
                text_of(&scene, 9, text);
                assert_string_equal(text, shown[i]);
        }
        scene_end(&scene);
}

/* Where a wide one has no room for both of its halves there is none. */
static void a_text_is_cut_between_characters(void **state)
{
        struct scene scene;
        char text[512];

        assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
        scene_begin(&scene);
        scene.grid.is_utf8 = true;
        assert_int_equal(grid_begin(&scene.grid, 1, 12), 0);
        for (int width = 1; width <= 9; width++) {
                static const char *const shown[] = { "\xe2\x80\xa6",
                                                     "a\xe2\x80\xa6",
                                                     "a \xe2\x80\xa6",
                                                     "a\xe6\xbc\xa2\xe2\x80\xa6",
                                                     "a\xe6\xbc\xa2 \xe2\x80\xa6",
                                                     "a\xe6\xbc\xa2\xe5\xad\x97\xe2\x80\xa6",
                                                     "a\xe6\xbc\xa2\xe5\xad\x97\\\xe2\x80\xa6",
                                                     "a\xe6\xbc\xa2\xe5\xad\x97\\x\xe2\x80\xa6",
                                                     "a\xe6\xbc\xa2\xe5\xad\x97\\x07" };
                struct grid_place place = { 0, 0, width, GRID_PLAIN };

                grid_text(&scene.grid, &place, "a\xe6\xbc\xa2\xe5\xad\x97\a");
                text_of(&scene, 0, text);
                assert_string_equal(text, shown[width - 1]);
        }
        scene_end(&scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(text_that_is_no_ascii_disturbs_nothing),
                cmocka_unit_test(labels_are_shown_as_they_were_written),
                cmocka_unit_test(a_text_is_cut_between_characters),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
