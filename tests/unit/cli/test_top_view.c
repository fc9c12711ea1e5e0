/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screens of `aliquot top`, to the cell: grids of the same small node in several sizes.
 */
#include "test_top_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static uint8_t looks_at(const struct scene *scene, int row, int column)
{
        return grid_at(&scene->grid, row, column)->looks;
}

static void a_usual_terminal(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_draw(&scene, 24, 80);
        scene_expect(
                &scene, SCENE_HEAD_80
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
                "\n" SCENE_KEYS);
        scene_end(&scene);
}

static void the_same_with_more_characters(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene.grid.is_utf8 = true;
        scene_draw(&scene, 12, 80);
        scene_expect(
                &scene,
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
                "? help  q quit  s sort (used)  v view  / filter  enter open  l c limit  t K "
                "end\n");
        scene_end(&scene);
}

/* Where there is a line for it on every screen. */
static void a_daemon_that_does_not_answer(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene.node.snapshot.is_silent = true;
        scene.node.snapshot.silent_seconds = 12345;
        scene_draw(&scene, 10, 40);
        scene_expect(&scene, "aliquot top  3 sessions, 3 pro  12:34:56\n"
                             "GPU   MEMORY                   USED BUSY\n"
                             "0     [###====.........]   7.50 GiB  37%\n"
                             "1     [#...............]    512 MiB    -\n"
                             "no answer from the daemon for 12345 s\n"
                             "   SESSION              USEDv      LIMIT\n"
                             ">+ serve                2 GiB      2 GiB\n"
                             " + train                2 GiB      4 GiB\n"
                             " + idle                   0 B          -\n"
                             "? help  q quit  s sort (used)  v view  ~\n");
        assert_true(looks_at(&scene, 4, 0) & GRID_BOLD);
        scene.node.snapshot.silent_seconds = 0;
        scene_draw(&scene, 10, 40);
        assert_int_equal(grid_at(&scene.grid, 4, 24)->character, 'n');
        assert_int_equal(grid_at(&scene.grid, 4, 26)->character, ' ');
        scene_draw_sizes(&scene, 12, 60);
        scene_end(&scene);
}

static void what_a_daemon_tells_of_a_session(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene.node.session[0].hidden_count = 3; /* of another user */
        scene.node.session[1].is_ending = true;
        snprintf(scene.node.session[1].on_end, 16, "term");
        scene.node.session[2].left_seconds = 7 * 3600 + 59 * 60 + 59;
        snprintf(scene.node.session[2].on_end, 16, "deny-new");
        snprintf(scene.node.session[2].labels, 64, "owner=ann team=b");
        scene_press(&scene, 'a');
        scene_draw(&scene, 17, 90);
        scene_expect(&scene,
                     "aliquot top  3 sessions, 6 processes  /run/a                                 "
                     "     12:34:56\n"
                     "GPU   NAME     MEMORY                 USED       CARD     OTHERS BUSY        "
                     "TEMP    POWER\n"
                     "0     Tesla T4 [###====.......]   7.50 GiB     16 GiB      4 GiB  37%      - "
                     " 45C   12/70W\n"
                     "1     Tesla T4 [#.............]    512 MiB     16 GiB        0 B    -        "
                     "   -        -\n"
                     "\n"
                     "   SESSION        PROC      USEDv      LIMIT MEMORY      FULL         GPU    "
                     "  LEFT STATE\n"
                     ">- serve             1      2 GiB      2 GiB [########]  100%       # 0      "
                     "       ending\n"
                     "      ending: term\n"
                     "        200 carol           2 GiB server\n"
                     " - train             2      2 GiB      4 GiB [###.....]   37%       - 0,1    "
                     " 7h59m\n"
                     "      ends in 7h59m, then deny-new  owner=ann team=b\n"
                     "      GPU 0              1.50 GiB      4 GiB [###.....]   37%\n"
                     "      GPU 1               512 MiB      4 GiB [#.......]   12%\n"
                     "        100 alice           2 GiB python3  GPU 0 1.50 GiB, GPU 1 512 MiB\n"
                     "        101 bob               0 B loader\n"
                     " - idle              3        0 B          - [........]    0%       _ -\n"
                     "? help  q quit  s sort (used)  v view  / filter  enter open  l c limit  t K "
                     "end\n");
        scene_press(&scene, '/');
        scene_press(&scene, 'A');
        scene_press(&scene, 'N');
        scene_press(&scene, 'N');
        scene_draw(&scene, 12, 80);
        scene_expect(
                &scene,
                "aliquot top  3 sessions, 6 processes  /run/a                            "
                "12:34:56\n" SCENE_GPUS_80
                "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL        GPU   STATE\n"
                ">- train             2      2 GiB      4 GiB [###....]   37%      - 0,1\n"
                "      ends in 7h59m, then deny-new  owner=ann team=b\n"
                "      GPU 0              1.50 GiB      4 GiB [###....]   37%\n"
                "      GPU 1               512 MiB      4 GiB [#......]   12%\n"
                "        100 alice           2 GiB python3  GPU 0 1.50 GiB, GPU 1 512 MiB\n"
                "filter: ANN_\n");
        scene_end(&scene);
}

static void the_time_left_is_short(void **state)
{
        static const struct {
                int64_t seconds;
                const char *said;
        } times[] = {
                { 0, "    0s" },         { 59, "   59s" },         { 60, " 1m00s" },
                { 3599, "59m59s" },      { 3600, " 1h00m" },       { 86399, "23h59m" },
                { 86400, " 1d00h" },     { 99 * 86400, "99d00h" }, { 36500LL * 86400, "36500d" },
                { INT64_MAX, "49710d" },
        };
        struct scene scene;

        scene_begin(&scene);
        for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
                char shown[7] = "";

                scene.node.session[1].left_seconds = times[i].seconds;
                scene_draw(&scene, 12, 100);
                for (int j = 0; j < 6; j++)
                        shown[j] = (char)grid_at(&scene.grid, 6, 100 - 13 + j)->character;
                assert_string_equal(shown, times[i].said);
        }
        scene_end(&scene);
}

static void all_columns_where_there_is_room(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        for (int i = 0; i < 30; i++)
                model_take(&scene.model, &scene.node.snapshot);
        scene_draw(&scene, 12, 130);
        scene_expect(&scene,
                     "aliquot top  3 sessions, 3 processes  /run/a                               "
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
                     "? help  q quit  s sort (used)  v view  / filter  enter open  l c limit  t K "
                     "end\n");
        scene_end(&scene);
}

static void opened_sessions_show_gpus_and_processes(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_press(&scene, 'a');
        scene_draw(&scene, 18, 80);
        scene_expect(
                &scene, SCENE_HEAD_80
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
                "\n" SCENE_KEYS);
        scene_end(&scene);
}

static void a_narrow_terminal_leaves_columns_out(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_draw(&scene, 10, 40);
        scene_expect(&scene, "aliquot top  3 sessions, 3 pro  12:34:56\n"
                             "GPU   MEMORY                   USED BUSY\n"
                             "0     [###====.........]   7.50 GiB  37%\n"
                             "1     [#...............]    512 MiB    -\n"
                             "\n"
                             "   SESSION              USEDv      LIMIT\n"
                             ">+ serve                2 GiB      2 GiB\n"
                             " + train                2 GiB      4 GiB\n"
                             " + idle                   0 B          -\n"
                             "? help  q quit  s sort (used)  v view  ~\n");
        scene_end(&scene);
}

static void below_that_it_says_so(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_draw(&scene, 9, 40);
        scene_expect(&scene, "\n"
                             "\n"
                             "\n"
                             "\n"
                             "too small: 40x10 needed\n"
                             "\n"
                             "\n"
                             "\n"
                             "\n");
        scene_end(&scene);
}

static void what_is_not_whole_or_waits_is_said(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        snprintf(scene.node.session[0].broken, 160, "broken: slots: Stale file handle");
        scene.node.session[1].is_held = true;
        scene.node.session[2].share[1].limit_bytes = GIB;
        scene.node.snapshot.device[1].index = -1;
        scene_press(&scene, 'a');
        scene_draw(&scene, 18, 90);
        scene_expect(
                &scene,
                "aliquot top  3 sessions, 3 processes  /run/a                                      "
                "12:34:56\n"
                "GPU   NAME     MEMORY                 USED       CARD     OTHERS BUSY        TEMP "
                " "
                "  POWER\n"
                "0     Tesla T4 [###====.......]   7.50 GiB     16 GiB      4 GiB  37%      -  45C "
                " "
                " 12/70W\n"
                "-     Tesla T4 [#.............]    512 MiB     16 GiB          -    -           - "
                " "
                "      -\n"
                "\n"
                "   SESSION           PROC      USEDv      LIMIT MEMORY         FULL          GPU  "
                " "
                " STATE\n"
                ">- serve                1      2 GiB      2 GiB [###########]  100%        # 0    "
                " "
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
                "? help  q quit  s sort (used)  v view  / filter  enter open  l c limit  t K "
                "end\n");
        scene_end(&scene);
}

static void more_gpus_than_there_is_room_for(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        for (unsigned i = 2; i < 12; i++) {
                scene.node.snapshot.device[i] = scene.node.snapshot.device[1];
                scene.node.snapshot.device[i].index = (int)i;
        }
        scene.node.snapshot.device_count = 12;
        scene_draw(&scene, 16, 60);
        scene_expect(&scene, "aliquot top  3 sessions, 3 processes  /run/a        12:34:56\n"
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
                             "? help  q quit  s sort (used)  v view  / filter  enter open~\n");
        scene_end(&scene);
}

static void once_is_all_of_it_and_no_keys(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_press(&scene, 'a');
        scene.frame.is_once = true;
        scene_draw(&scene, view_rows(&scene.frame), 80);
        scene_expect(
                &scene,
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
        scene_end(&scene);
}

static void what_is_selected_and_what_is_full_is_seen_by_its_looks(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_draw(&scene, 24, 80);
        assert_true(looks_at(&scene, 0, 0) & GRID_BOLD);
        assert_true(looks_at(&scene, 5, 79) & GRID_TITLE);
        assert_true(looks_at(&scene, 6, 0) & GRID_SELECTED);
        assert_true(looks_at(&scene, 6, 79) & GRID_SELECTED);
        assert_false(looks_at(&scene, 7, 0) & GRID_SELECTED);
        /* The first cells of the bars. */
        assert_int_equal(looks_at(&scene, 6, 47) & GRID_COLOUR, GRID_RED);
        assert_int_equal(looks_at(&scene, 7, 47) & GRID_COLOUR, GRID_GREEN);
        scene_end(&scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_usual_terminal),
                cmocka_unit_test(the_same_with_more_characters),
                cmocka_unit_test(a_daemon_that_does_not_answer),
                cmocka_unit_test(what_a_daemon_tells_of_a_session),
                cmocka_unit_test(the_time_left_is_short),
                cmocka_unit_test(all_columns_where_there_is_room),
                cmocka_unit_test(opened_sessions_show_gpus_and_processes),
                cmocka_unit_test(a_narrow_terminal_leaves_columns_out),
                cmocka_unit_test(below_that_it_says_so),
                cmocka_unit_test(what_is_not_whole_or_waits_is_said),
                cmocka_unit_test(more_gpus_than_there_is_room_for),
                cmocka_unit_test(once_is_all_of_it_and_no_keys),
                cmocka_unit_test(what_is_selected_and_what_is_full_is_seen_by_its_looks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
