/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screens of `aliquot top`, to the cell: grids of the same small node in several sizes.
 */
#include "cli/top/view.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_top.h"

struct scene {
        struct test_node node;
        struct model model;
        struct keys keys;
        struct grid grid;
        struct view_frame frame;
        size_t first;
};

static void begin(struct scene *scene)
{
        *scene = (struct scene){ .model.sort = SORT_USED };
        scene->frame = (struct view_frame){ .model = &scene->model,
                                            .clock = "12:34:56",
                                            .where = "/run/a" };
        test_node_init(&scene->node);
        assert_int_equal(model_take(&scene->model, &scene->node.snapshot), 0);
}

static void end(struct scene *scene)
{
        model_finish(&scene->model);
        keys_finish(&scene->keys);
        grid_finish(&scene->grid);
}

static void draw(struct scene *scene, int rows, int columns)
{
        assert_int_equal(grid_begin(&scene->grid, rows, columns), 0);
        view_draw(&scene->grid, &scene->frame, &scene->keys, &scene->first);
}

static void press(struct scene *scene, int key)
{
        assert_int_equal(keys_press(&scene->keys, &scene->model, key), ORDER_NONE);
}

/* The screen as text; lines that are empty at its end do not count. */
static void expect(const struct scene *scene, const char *expected)
{
        char *text = NULL;
        size_t bytes = 0;
        FILE *stream = open_memstream(&text, &bytes);

        grid_print(&scene->grid, stream);
        fclose(stream);
        assert_string_equal(text, expected);
        free(text);
}

static uint8_t looks_at(const struct scene *scene, int row, int column)
{
        return grid_at(&scene->grid, row, column)->looks;
}

static void a_usual_terminal(void **state)
{
        struct scene scene;

        begin(&scene);
        draw(&scene, 24, 80);
        expect(&scene,
               "aliquot top  3 sessions, 3 processes  /run/a                            12:34:56\n"
               "GPU   NAME      MEMORY                 USED       CARD BUSY        TEMP    POWER\n"
               "0     Tesla T4  [###====.......]   7.50 GiB     16 GiB  37%      -  45C   12/70W\n"
               "1     Tesla T4  [#.............]    512 MiB     16 GiB    -           -        -\n"
               "\n"
               "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL        GPU   STATE\n"
               ">+ serve             1      2 GiB      2 GiB [#######]  100%      # 0\n"
               " + train             2      2 GiB      4 GiB [###....]   37%      - 0,1\n"
               " + idle              0        0 B          - [.......]    0%      _ -\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "? help  q quit  s sort (used)  / filter  enter open  l limit  t K end\n");
        end(&scene);
}

static void the_same_with_more_characters(void **state)
{
        struct scene scene;

        begin(&scene);
        scene.grid.is_utf8 = true;
        draw(&scene, 12, 80);
        expect(&scene,
               "aliquot top  3 sessions, 3 processes  /run/a                            12:34:56\n"
               "GPU   NAME      MEMORY                 USED       CARD BUSY        TEMP    POWER\n"
               "0     Tesla T4  [███▒▒▒▒·······]   7.50 GiB     16 GiB  37%      ▄  45C   12/70W\n"
               "1     Tesla T4  [█·············]    512 MiB     16 GiB    -           -        -\n"
               "\n"
               "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL        GPU   STATE\n"
               ">+ serve             1      2 GiB      2 GiB [███████]  100%      █ 0\n"
               " + train             2      2 GiB      4 GiB [███····]   37%      ▄ 0,1\n"
               " + idle              0        0 B          - [·······]    0%      ▁ -\n"
               "\n"
               "\n"
               "? help  q quit  s sort (used)  / filter  enter open  l limit  t K end\n");
        end(&scene);
}

static void all_columns_where_there_is_room(void **state)
{
        struct scene scene;

        begin(&scene);
        for (int i = 0; i < 30; i++)
                model_take(&scene.model, &scene.node.snapshot);
        draw(&scene, 12, 130);
        expect(&scene, "aliquot top  3 sessions, 3 processes  /run/a                               "
                       "                                               12:34:56\n"
                       "GPU   NAME               MEMORY                                     USED   "
                       "    CARD     OTHERS BUSY                  TEMP    POWER\n"
                       "0     Tesla T4           [#######=========..................]   7.50 GiB   "
                       "  16 GiB      4 GiB  37%              ---  45C   12/70W\n"
                       "1     Tesla T4           [#.................................]    512 MiB   "
                       "  16 GiB        0 B    -                     -        -\n"
                       "\n"
                       "   SESSION                       PROC      USEDv      LIMIT MEMORY         "
                       "                FULL                  GPU        STATE\n"
                       ">+ serve                            1      2 GiB      2 GiB "
                       "[###########################]  100%              ### 0\n"
                       " + train                            2      2 GiB      4 GiB "
                       "[##########.................]   37%              --- 0,1\n"
                       " + idle                             0        0 B          - "
                       "[...........................]    0%              ___ -\n"
                       "\n"
                       "\n"
                       "? help  q quit  s sort (used)  / filter  enter open  l limit  t K end\n");
        end(&scene);
}

static void opened_sessions_show_gpus_and_processes(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, 'a');
        draw(&scene, 18, 80);
        expect(&scene,
               "aliquot top  3 sessions, 3 processes  /run/a                            12:34:56\n"
               "GPU   NAME      MEMORY                 USED       CARD BUSY        TEMP    POWER\n"
               "0     Tesla T4  [###====.......]   7.50 GiB     16 GiB  37%      -  45C   12/70W\n"
               "1     Tesla T4  [#.............]    512 MiB     16 GiB    -           -        -\n"
               "\n"
               "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL        GPU   STATE\n"
               ">- serve             1      2 GiB      2 GiB [#######]  100%      # 0\n"
               "        200 carol           2 GiB server\n"
               " - train             2      2 GiB      4 GiB [###....]   37%      - 0,1\n"
               "      GPU 0              1.50 GiB      4 GiB [###....]   37%\n"
               "      GPU 1               512 MiB      4 GiB [#......]   12%\n"
               "        100 alice           2 GiB python3  GPU 0 1.50 GiB, GPU 1 512 MiB\n"
               "        101 bob               0 B loader\n"
               " - idle              0        0 B          - [.......]    0%      _ -\n"
               "\n"
               "\n"
               "\n"
               "? help  q quit  s sort (used)  / filter  enter open  l limit  t K end\n");
        end(&scene);
}

static void a_narrow_terminal_leaves_columns_out(void **state)
{
        struct scene scene;

        begin(&scene);
        draw(&scene, 10, 40);
        expect(&scene, "aliquot top  3 sessions, 3 pro  12:34:56\n"
                       "GPU   MEMORY                   USED BUSY\n"
                       "0     [###====.........]   7.50 GiB  37%\n"
                       "1     [#...............]    512 MiB    -\n"
                       "\n"
                       "   SESSION              USEDv      LIMIT\n"
                       ">+ serve                2 GiB      2 GiB\n"
                       " + train                2 GiB      4 GiB\n"
                       " + idle                   0 B          -\n"
                       "? help  q quit  s sort (used)  / filter~\n");
        end(&scene);
}

static void below_that_it_says_so(void **state)
{
        struct scene scene;

        begin(&scene);
        draw(&scene, 9, 40);
        expect(&scene, "\n"
                       "\n"
                       "\n"
                       "\n"
                       "too small: 40x10 needed\n"
                       "\n"
                       "\n"
                       "\n"
                       "\n");
        end(&scene);
}

static void a_filter_that_nothing_matches(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, '/');
        press(&scene, 'x');
        press(&scene, 'y');
        draw(&scene, 10, 60);
        expect(&scene, "aliquot top  3 sessions, 3 processes  /run/a        12:34:56\n"
                       "GPU   NAME      MEMORY                  USED       CARD BUSY\n"
                       "0     Tesla T4  [###====........]   7.50 GiB     16 GiB  37%\n"
                       "1     Tesla T4  [#..............]    512 MiB     16 GiB    -\n"
                       "\n"
                       "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL\n"
                       "   nothing here matches xy\n"
                       "\n"
                       "\n"
                       "filter: xy_\n");
        end(&scene);
}

static void a_question_about_a_limit(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, KEY_OF_DOWN);
        press(&scene, 'l');
        press(&scene, '8');
        draw(&scene, 10, 80);
        expect(&scene,
               "aliquot top  3 sessions, 3 processes  /run/a                            12:34:56\n"
               "GPU   NAME      MEMORY                 USED       CARD BUSY        TEMP    POWER\n"
               "0     Tesla T4  [###====.......]   7.50 GiB     16 GiB  37%      -  45C   12/70W\n"
               "1     Tesla T4  [#.............]    512 MiB     16 GiB    -           -        -\n"
               "\n"
               "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL        GPU   STATE\n"
               " + serve             1      2 GiB      2 GiB [#######]  100%      # 0\n"
               ">+ train             2      2 GiB      4 GiB [###....]   37%      - 0,1\n"
               " + idle              0        0 B          - [.......]    0%      _ -\n"
               "memory of train, as 4GiB, 25% or 0=4GiB,1=8GiB: 8_\n");
        end(&scene);
}

static void a_question_about_a_signal(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, KEY_OF_DOWN);
        press(&scene, 'K');
        draw(&scene, 10, 60);
        expect(&scene, "aliquot top  3 sessions, 3 processes  /run/a        12:34:56\n"
                       "GPU   NAME      MEMORY                  USED       CARD BUSY\n"
                       "0     Tesla T4  [###====........]   7.50 GiB     16 GiB  37%\n"
                       "1     Tesla T4  [#..............]    512 MiB     16 GiB    -\n"
                       "\n"
                       "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL\n"
                       " + serve             1      2 GiB      2 GiB [#######]  100%\n"
                       ">+ train             2      2 GiB      4 GiB [###....]   37%\n"
                       " + idle              0        0 B          - [.......]    0%\n"
                       "SIGKILL to all 2 processes of train? y or n\n");
        end(&scene);
}

static void its_help(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, '?');
        draw(&scene, 15, 80);
        expect(&scene,
               "aliquot top: its keys (any key goes back)\n"
               "up down j k         select; also page up, page down, home, end\n"
               "enter               open the session: its GPUs and processes (again: close)\n"
               "a                   open all, close all\n"
               "n p u m f           sort by name, processes, used, limit, how full\n"
               "s r                 sort by the next one; reverse the order\n"
               "/                   filter by session, command, user or pid; Esc: all again\n"
               "l                   change the memory limit, as aliquot set does\n"
               "t K                 end the process, or all of the session: SIGTERM, SIGKILL\n"
               "space               hold the picture still; again: go on\n"
               "q                   quit\n"
               "\n"
               "[######=====.....]  of a GPU: sessions, others, free\n"
               "\n"
               "\n");
        end(&scene);
}

static void no_driver_and_no_session(void **state)
{
        struct scene scene;

        begin(&scene);
        scene.node.snapshot.device_count = 0;
        scene.node.snapshot.session_count = 0;
        snprintf(scene.node.snapshot.note, sizeof(scene.node.snapshot.note), "no driver here");
        assert_int_equal(model_take(&scene.model, &scene.node.snapshot), 0);
        draw(&scene, 10, 80);
        expect(&scene,
               "aliquot top  0 sessions, 0 processes  /run/a                            12:34:56\n"
               "GPU   NAME      MEMORY                 USED       CARD BUSY        TEMP    POWER\n"
               "no driver here\n"
               "\n"
               "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL        GPU   STATE\n"
               "   no session; aliquot run --memory 4GiB -- program makes one\n"
               "\n"
               "\n"
               "\n"
               "? help  q quit  s sort (used)  / filter  enter open  l limit  t K end\n");
        end(&scene);
}

static void what_is_not_whole_or_waits_is_said(void **state)
{
        struct scene scene;

        begin(&scene);
        snprintf(scene.node.session[0].broken, 160, "broken: slots: Stale file handle");
        scene.node.session[1].is_held = true;
        scene.node.session[2].share[1].limit_bytes = GIB;
        scene.node.snapshot.device[1].index = -1;
        press(&scene, 'a');
        draw(&scene, 18, 90);
        expect(&scene,
               "aliquot top  3 sessions, 3 processes  /run/a                                      "
               "12:34:56\n"
               "GPU   NAME     MEMORY                 USED       CARD     OTHERS BUSY        TEMP  "
               "  POWER\n"
               "0     Tesla T4 [###====.......]   7.50 GiB     16 GiB      4 GiB  37%      -  45C  "
               " 12/70W\n"
               "-     Tesla T4 [#.............]    512 MiB     16 GiB          -    -           -  "
               "      -\n"
               "\n"
               "   SESSION           PROC      USEDv      LIMIT MEMORY         FULL          GPU   "
               " STATE\n"
               ">- serve                1      2 GiB      2 GiB [###########]  100%        # 0     "
               " held\n"
               "        200 carol              2 GiB server\n"
               " - train                2      2 GiB      mixed [######.....]   50%        - 0\n"
               "      GPU 0                 1.50 GiB      4 GiB [####.......]   37%\n"
               "      GPU-02020202           512 MiB      1 GiB [######.....]   50%\n"
               "        100 alice              2 GiB python3  GPU 0 1.50 GiB, GPU-02020202 512 "
               "MiB\n"
               "        101 bob                  0 B loader\n"
               " - idle             broken: slots: Stale file handle\n"
               "\n"
               "\n"
               "\n"
               "? help  q quit  s sort (used)  / filter  enter open  l limit  t K end\n");
        end(&scene);
}

static void more_gpus_than_there_is_room_for(void **state)
{
        struct scene scene;

        begin(&scene);
        for (unsigned i = 2; i < 12; i++) {
                scene.node.snapshot.device[i] = scene.node.snapshot.device[1];
                scene.node.snapshot.device[i].index = (int)i;
        }
        scene.node.snapshot.device_count = 12;
        draw(&scene, 16, 60);
        expect(&scene, "aliquot top  3 sessions, 3 processes  /run/a        12:34:56\n"
                       "GPU   NAME      MEMORY                  USED       CARD BUSY\n"
                       "0     Tesla T4  [###====........]   7.50 GiB     16 GiB  37%\n"
                       "1     Tesla T4  [#..............]    512 MiB     16 GiB    -\n"
                       "2     Tesla T4  [#..............]    512 MiB     16 GiB    -\n"
                       "3     Tesla T4  [#..............]    512 MiB     16 GiB    -\n"
                       "and 8 more: this screen has no room for them\n"
                       "\n"
                       "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL\n"
                       ">+ serve             1      2 GiB      2 GiB [#######]  100%\n"
                       " + train             2      2 GiB      4 GiB [###....]   37%\n"
                       " + idle              0        0 B          - [.......]    0%\n"
                       "\n"
                       "\n"
                       "\n"
                       "? help  q quit  s sort (used)  / filter  enter open  l limi~\n");
        end(&scene);
}

static void once_is_all_of_it_and_no_keys(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, 'a');
        scene.frame.is_once = true;
        draw(&scene, view_rows(&scene.frame), 80);
        expect(&scene,
               "aliquot top  3 sessions, 3 processes  /run/a                            12:34:56\n"
               "GPU   NAME        MEMORY                      USED       CARD BUSY TEMP    POWER\n"
               "0     Tesla T4    [####=====..........]   7.50 GiB     16 GiB  37%  45C   12/70W\n"
               "1     Tesla T4    [#..................]    512 MiB     16 GiB    -    -        -\n"
               "\n"
               "   SESSION           PROC      USEDv      LIMIT MEMORY        FULL GPU    STATE\n"
               " - serve                1      2 GiB      2 GiB [##########]  100% 0\n"
               "        200 carol              2 GiB server\n"
               " - train                2      2 GiB      4 GiB [####......]   37% 0,1\n"
               "      GPU 0                 1.50 GiB      4 GiB [####......]   37%\n"
               "      GPU 1                  512 MiB      4 GiB [#.........]   12%\n"
               "        100 alice              2 GiB python3  GPU 0 1.50 GiB, GPU 1 512 MiB\n"
               "        101 bob                  0 B loader\n"
               " - idle                 0        0 B          - [..........]    0% -\n");
        end(&scene);
}

static void what_is_selected_and_what_is_full_is_seen_by_its_looks(void **state)
{
        struct scene scene;

        begin(&scene);
        draw(&scene, 24, 80);
        assert_true(looks_at(&scene, 0, 0) & GRID_BOLD);
        assert_true(looks_at(&scene, 5, 79) & GRID_TITLE);
        assert_true(looks_at(&scene, 6, 0) & GRID_SELECTED);
        assert_true(looks_at(&scene, 6, 79) & GRID_SELECTED);
        assert_false(looks_at(&scene, 7, 0) & GRID_SELECTED);
        /* The first cells of the bars. */
        assert_int_equal(looks_at(&scene, 6, 47) & GRID_COLOUR, GRID_RED);
        assert_int_equal(looks_at(&scene, 7, 47) & GRID_COLOUR, GRID_GREEN);
        end(&scene);
}

static void every_size_is_drawn_within_its_grid(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, 'a');
        for (int question = 0; question < 4; question++) {
                press(&scene, "?/lt"[question]);
                for (int rows = 1; rows <= 40; rows++) {
                        for (int columns = 1; columns <= 130; columns++)
                                draw(&scene, rows, columns);
                }
                scene.keys.question = ASKS_NOTHING;
        }
        end(&scene);
}

static void the_selected_row_is_on_the_screen_wherever_it_is(void **state)
{
        static struct snapshot_session session[300];
        struct scene scene;

        begin(&scene);
        for (unsigned i = 0; i < 300; i++) {
                char name[32];

                snprintf(name, sizeof(name), "s%03u", i);
                session[i] = test_session(name, GIB, 0);
        }
        scene.node.snapshot.session = session;
        scene.node.snapshot.session_count = 300;
        model_take(&scene.model, &scene.node.snapshot);
        for (unsigned step = 0; step < 700; step++) {
                press(&scene, step < 350 ? KEY_OF_DOWN : KEY_OF_UP);
                draw(&scene, 10 + (int)step % 20, 80);
                assert_true(scene.model.selected >= scene.first);
                assert_true(scene.model.selected < scene.first + (size_t)scene.keys.page_rows);
        }
        press(&scene, KEY_OF_END);
        draw(&scene, 24, 80);
        assert_int_equal(grid_at(&scene.grid, 22, 0)->character, '>');
        assert_int_equal(grid_at(&scene.grid, 22, 6)->character, '9'); /* s299 */
        end(&scene);
}

static void text_that_is_no_ascii_disturbs_nothing(void **state)
{
        struct scene scene;

        begin(&scene);
        snprintf(scene.node.snapshot.device[0].name, 96, "\033[2J\xc3\xa4\n");
        draw(&scene, 24, 80);
        for (int i = 0; i < 80; i++)
                assert_in_range(grid_at(&scene.grid, 2, i)->character, ' ', '~');
        end(&scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_usual_terminal),
                cmocka_unit_test(the_same_with_more_characters),
                cmocka_unit_test(all_columns_where_there_is_room),
                cmocka_unit_test(opened_sessions_show_gpus_and_processes),
                cmocka_unit_test(a_narrow_terminal_leaves_columns_out),
                cmocka_unit_test(below_that_it_says_so),
                cmocka_unit_test(a_filter_that_nothing_matches),
                cmocka_unit_test(a_question_about_a_limit),
                cmocka_unit_test(a_question_about_a_signal),
                cmocka_unit_test(its_help),
                cmocka_unit_test(no_driver_and_no_session),
                cmocka_unit_test(what_is_not_whole_or_waits_is_said),
                cmocka_unit_test(more_gpus_than_there_is_room_for),
                cmocka_unit_test(once_is_all_of_it_and_no_keys),
                cmocka_unit_test(what_is_selected_and_what_is_full_is_seen_by_its_looks),
                cmocka_unit_test(every_size_is_drawn_within_its_grid),
                cmocka_unit_test(the_selected_row_is_on_the_screen_wherever_it_is),
                cmocka_unit_test(text_that_is_no_ascii_disturbs_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
