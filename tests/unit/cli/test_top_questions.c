/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `aliquot top` draws while it is used, to the cell: questions, help, filters, the selection.
 */
#include "test_top_scene.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void a_filter_that_nothing_matches(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_press(&scene, '/');
        scene_press(&scene, 'x');
        scene_press(&scene, 'y');
        scene_draw(&scene, 10, 60);
        scene_expect(&scene,
                     SCENE_HEAD_60 "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL\n"
                                   "   nothing here matches xy\n"
                                   "\n"
                                   "\n"
                                   "filter: xy_\n");
        scene_end(&scene);
}

static void a_question_about_a_limit(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_press(&scene, KEY_OF_DOWN);
        scene_press(&scene, 'l');
        scene_press(&scene, '8');
        scene_draw(&scene, 10, 80);
        scene_expect(
                &scene, SCENE_HEAD_80
                "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL        GPU   STATE\n"
                " + serve             1      2 GiB      2 GiB [#######]  100%      # 0\n"
                ">+ train             2      2 GiB      4 GiB [###....]   37%      - 0,1\n"
                " + idle              0        0 B          - [.......]    0%      _ -\n"
                "memory of train, such as 4GiB, 25% or 0=4GiB,1=8GiB: 8_\n");
        scene_end(&scene);
}

static void a_question_about_a_signal(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_press(&scene, KEY_OF_DOWN);
        scene_press(&scene, 'K');
        scene_draw(&scene, 10, 60);
        scene_expect(&scene,
                     SCENE_HEAD_60 "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL\n"
                                   " + serve             1      2 GiB      2 GiB [#######]  100%\n"
                                   ">+ train             2      2 GiB      4 GiB [###....]   37%\n"
                                   " + idle              0        0 B          - [.......]    0%\n"
                                   "SIGKILL to all 2 processes of train? y or n\n");
        scene_end(&scene);
}

static void its_help(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_press(&scene, '?');
        scene_draw(&scene, 17, 80);
        scene_expect(
                &scene,
                "aliquot top: its keys (any key goes back)\n"
                "up down j k         select; also page up, page down, home, end\n"
                "enter               open or close the session: end, labels, GPUs, processes\n"
                "a                   open all, close all\n"
                "n p u m f b w       sort by name, processes, used, limit, full, share, waiting\n"
                "s r                 sort by the next one; reverse the order\n"
                "/                   filter by session, label, command, user, pid; Esc: all again\n"
                "v                   where the screen is narrow: more of memory, more of GPU time\n"
                "l c g W P G         set memory limit, cap, guarantee, weight, priority, gang\n"
                "t K                 end the process, or all of the session: SIGTERM, SIGKILL\n"
                "e                   what the daemon did, as it happens\n"
                "space               hold the picture still; again: go on\n"
                "q                   quit\n"
                "\n"
                "[######=====.....]  of a GPU: sessions, others, free\n"
                "[###=====........]  of its time: had, what else is promised, free\n"
                "\n");
        scene_end(&scene);
}

static void a_refusal_has_room_beside_a_gpus_name(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        snprintf(scene.keys.message, sizeof(scene.keys.message),
                 "memory: 8 GiB asked for, 4 GiB free on GPU-42d2f742-20d1-4256-8ecf-ad092f078235; "
                 "free: GPU 0 4 GiB");
        scene_draw(&scene, 12, 80);
        scene_expect(
                &scene, SCENE_HEAD_80
                "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL        GPU   STATE\n"
                ">+ serve             1      2 GiB      2 GiB [#######]  100%      # 0\n"
                " + train             2      2 GiB      4 GiB [###....]   37%      - 0,1\n"
                " + idle              0        0 B          - [.......]    0%      _ -\n"
                "\n"
                "\n"
                "memory: 8 GiB asked for, 4 GiB free on GPU-42d2f742; free: GPU 0 4 GiB\n");
        scene_end(&scene);
}

static void the_latest_events(void **state)
{
        static const char text[] = "1 created a\n2 changed a\n3 rel\033ased a";
        static struct lines events;
        struct scene scene;

        scene_begin(&scene);
        scene.frame.events = &events;
        lines_add(&events, text, 30);
        lines_add(&events, text + 30, strlen(text) - 30);
        scene_press(&scene, 'e');
        scene_draw(&scene, 10, 60);
        scene_expect(&scene, "what the daemon did, the latest last (any key goes back)\n"
                             "1 created a\n"
                             "2 changed a\n"
                             "3 rel?ased a\n"
                             "\n\n\n\n\n\n");
        for (unsigned i = 0; i < 1000; i++)
                lines_add(&events, "\nx", 2);
        for (unsigned i = 0; i < 1000; i++)
                lines_add(&events, "y", 1);
        assert_int_equal(lines_kept(&events), LINES_MAX);
        assert_string_equal(lines_at(&events, LINES_MAX - 2), "x");
        assert_int_equal(strlen(lines_at(&events, LINES_MAX - 1)), LINES_BYTES - 1);
        scene_draw(&scene, 10, 60);
        assert_int_equal(grid_at(&scene.grid, 8, 0)->character, 'x');
        assert_int_equal(grid_at(&scene.grid, 9, 1)->character, 'y');
        scene_press(&scene, 'e');
        assert_int_equal(scene.keys.question, ASKS_NOTHING);
        scene_end(&scene);
}

static void no_driver_and_no_session(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene.node.snapshot.device_count = 0;
        scene.node.snapshot.session_count = 0;
        snprintf(scene.node.snapshot.note, sizeof(scene.node.snapshot.note), "no driver here");
        assert_int_equal(model_take(&scene.model, &scene.node.snapshot), 0);
        scene_draw(&scene, 10, 80);
        scene_expect(
                &scene,
                "aliquot top  0 sessions, 0 processes  /run/a                            12:34:56\n"
                "GPU   NAME      MEMORY                 USED       CARD BUSY        TEMP    POWER\n"
                "no driver here\n"
                "\n"
                "   SESSION        PROC      USEDv      LIMIT MEMORY     FULL        GPU   STATE\n"
                "   no session; aliquot run --memory 4GiB -- program makes one\n"
                "\n"
                "\n"
                "\n"
                "? help  q quit  s sort (used)  v view  / filter  enter open  l c limit  t K "
                "end\n");
        scene_end(&scene);
}

static void every_size_is_drawn_within_its_grid(void **state)
{
        struct scene scene;

        scene_begin(&scene);
        scene_press(&scene, 'a');
        for (int question = 0; question < 5; question++) {
                scene_press(&scene, "?/lte"[question]);
                scene_draw_sizes(&scene, 40, 130);
                scene.keys.question = ASKS_NOTHING;
        }
        scene_end(&scene);
}

static void the_selected_row_is_on_the_screen_wherever_it_is(void **state)
{
        static struct snapshot_session session[300];
        struct scene scene;

        scene_begin(&scene);
        for (unsigned i = 0; i < 300; i++) {
                char name[32];

                snprintf(name, sizeof(name), "s%03u", i);
                session[i] = test_session(name, GIB, 0);
        }
        scene.node.snapshot.session = session;
        scene.node.snapshot.session_count = 300;
        model_take(&scene.model, &scene.node.snapshot);
        for (unsigned step = 0; step < 700; step++) {
                scene_press(&scene, step < 350 ? KEY_OF_DOWN : KEY_OF_UP);
                scene_draw(&scene, 10 + (int)step % 20, 80);
                assert_true(scene.model.selected >= scene.first);
                assert_true(scene.model.selected < scene.first + (size_t)scene.keys.page_rows);
        }
        scene_press(&scene, KEY_OF_END);
        scene_draw(&scene, 24, 80);
        assert_int_equal(grid_at(&scene.grid, 22, 0)->character, '>');
        assert_int_equal(grid_at(&scene.grid, 22, 6)->character, '9'); /* s299 */
        scene_end(&scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_filter_that_nothing_matches),
                cmocka_unit_test(a_question_about_a_limit),
                cmocka_unit_test(a_question_about_a_signal),
                cmocka_unit_test(its_help),
                cmocka_unit_test(a_refusal_has_room_beside_a_gpus_name),
                cmocka_unit_test(the_latest_events),
                cmocka_unit_test(no_driver_and_no_session),
                cmocka_unit_test(every_size_is_drawn_within_its_grid),
                cmocka_unit_test(the_selected_row_is_on_the_screen_wherever_it_is),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
