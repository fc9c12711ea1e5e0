/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `aliquot top` tells of GPU time: what was promised and what was had of it, from counters of
 * two looks; and who waits for what. Screens to the cell.
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

#define MS UINT64_C(1000000)
#define PERCENT 10000u /* of the whole, in millionths */

static struct snapshot_time *time_of(struct scene *scene, unsigned session, unsigned share)
{
        return &scene->node.session[session].share[share].time;
}

/* So much later it has run and waited so much more. */
static void pass(struct scene *scene, uint64_t ms)
{
        for (unsigned i = 1; i < 3; i++) {
                for (unsigned j = 0; j < scene->node.session[i].share_count; j++) {
                        struct snapshot_time *time = time_of(scene, i, j);

                        if (time->ran.at_ns)
                                time->ran.at_ns += ms * MS;
                        if (time->told.at_ns)
                                time->told.at_ns += ms * MS;
                }
        }
        snapshot_judge(&scene->node.snapshot);
        assert_int_equal(model_take(&scene->model, &scene->node.snapshot), 0);
}

/* serve has a cap of 30 %, used up; train a guarantee on GPU 0 and a cap beside it on GPU 1, where
 * a daemon lets others go first. */
static void begin_at_work(struct scene *scene)
{
        struct snapshot_session *train;

        scene_begin(scene);
        *time_of(scene, 1, 0) = (struct snapshot_time){ .cap_ppm = 30 * PERCENT,
                                                        .debt_ns = 1250 * MS,
                                                        .ran = { 1 } };
        *time_of(scene, 2, 0) = (struct snapshot_time){
                .guarantee_ppm = 60 * PERCENT, .is_leased = true, .ran = { 1 }, .told = { 1 }
        };
        *time_of(scene, 2, 1) = (struct snapshot_time){ .cap_ppm = 333333,
                                                        .guarantee_ppm = 10 * PERCENT,
                                                        .is_leased = true,
                                                        .ran = { 1 },
                                                        .told = { 1 } };
        train = &scene->node.session[2];
        train->has_daemon = true;
        train->weight = 200;
        snprintf(train->priority, sizeof(train->priority), "rt");
        pass(scene, 0);
        time_of(scene, 1, 0)->ran.busy_ns += 299 * MS;
        time_of(scene, 1, 0)->ran.waited_ns += 640 * MS;
        time_of(scene, 2, 0)->ran.busy_ns += 551 * MS;
        time_of(scene, 2, 0)->told.queued_ns += 99 * MS;
        time_of(scene, 2, 1)->ran.busy_ns += 5 * MS;
        time_of(scene, 2, 1)->ran.waited_ns += 123 * MS;
        time_of(scene, 2, 1)->told.throttled_ns += 30 * MS;
        pass(scene, 1000);
}

static void on_a_usual_terminal_what_was_had_is_beside_memory(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        scene_draw(&scene, 12, 80);
        scene_expect(
                &scene, SCENE_HEAD_80
                "   SESSION        PROC      USEDv      LIMIT MEMORY     SHARE PROMISED STATE\n"
                ">+ serve             1      2 GiB      2 GiB [#######]  29.9%      30% degraded\n"
                " + train             2      2 GiB      4 GiB [###....]  55.1%     60%+ queued\n"
                " + idle              0        0 B          - [.......]      -\n"
                "\n"
                "\n" SCENE_KEYS);
        scene_end(&scene);
}

static void the_other_view_tells_more_of_time(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        scene_press(&scene, 'v');
        scene_press(&scene, 'a');
        scene_draw(&scene, 20, 80);
        scene_expect(
                &scene, SCENE_HEAD_80
                "   SESSION        PROC  SHARE  PROMISED TIME               WAIT   DEBT STATE\n"
                ">- serve             1  29.9%       30% [##=....]      -  64.0%   1.2s degraded\n"
                "      GPU time: at most 30%, accuracy=degraded\n"
                "        200 carol      server\n"
                " - train             2  55.1%      60%+ [####=..]      =  12.3%      - queued\n"
                "      GPU time: at least 60%, weight 200, rt, queued 9.9%, accuracy=exact\n"
                "      GPU 0             55.1%      60%+ [####=..]          0.0%      - queued\n"
                "      GPU 1              0.5%  10-33.3% [#=.....]         12.3%      - throttled\n"
                "        100 alice      python3  GPU 0 1.50 GiB, GPU 1 512 MiB\n"
                "        101 bob        loader\n"
                " - idle              0      -\n"
                "\n"
                "\n"
                "\n" SCENE_KEYS);
        scene_end(&scene);
}

/* Kernels that run at once are each measured with the other's slices in them. */
static void what_all_had_is_no_more_than_there_was(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        time_of(&scene, 1, 0)->ran.busy_ns += 500 * MS;
        time_of(&scene, 2, 0)->ran.busy_ns += 750 * MS;
        time_of(&scene, 2, 1)->ran.busy_ns += 900 * MS;
        pass(&scene, 1000);
        assert_int_equal(model_pace(&scene.model, 1, 0)->figures.had, 400);
        assert_int_equal(model_pace(&scene.model, 2, 0)->figures.had, 600);
        assert_int_equal(model_pace(&scene.model, 2, 1)->figures.had, 900); /* another GPU */
        time_of(&scene, 1, 0)->ran.busy_ns += 500 * MS;
        time_of(&scene, 2, 0)->ran.busy_ns += 400 * MS;
        pass(&scene, 1000);
        assert_int_equal(model_pace(&scene.model, 1, 0)->figures.had, 500);
        assert_int_equal(model_pace(&scene.model, 2, 0)->figures.had, 400);
        scene_end(&scene);
}

static void with_whom_it_has_its_turns_is_told_last(void **state)
{
        struct scene scene;
        struct snapshot_session *idle;

        scene_begin(&scene);
        idle = &scene.node.session[0];
        idle->has_daemon = true;
        idle->weight = 100;
        snprintf(idle->priority, sizeof(idle->priority), "normal");
        snprintf(idle->gang, sizeof(idle->gang), "ranks");
        pass(&scene, 0);
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
                "      GPU time: weight 100, normal, accuracy=exact, gang ranks\n"
                "\n"
                "\n" SCENE_KEYS);
        scene_end(&scene);
}

/* What a kernel of an hour leaves still fits, with its unit. */
static void a_long_debt_is_told_in_whole_seconds(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        time_of(&scene, 1, 0)->debt_ns = 2520900 * MS;
        scene_press(&scene, 'v');
        scene_draw(&scene, 12, 80);
        scene_expect(
                &scene, SCENE_HEAD_80
                "   SESSION        PROC  SHARE  PROMISED TIME               WAIT   DEBT STATE\n"
                ">+ serve             1  29.9%       30% [##=....]      -  64.0%  2520s degraded\n"
                " + train             2  55.1%      60%+ [####=..]      =  12.3%      - queued\n"
                " + idle              0      -\n"
                "\n"
                "\n" SCENE_KEYS);
        scene_end(&scene);
}

static void a_wide_terminal_has_room_for_both(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        scene.grid.is_utf8 = true;
        scene_draw(&scene, 12, 170);
        scene_expect(
                &scene,
                "aliquot top  3 sessions, 3 processes  /run/a                                      "
                "                                                                                "
                "12:34:56\n"
                "GPU   NAME                     MEMORY                                             "
                "               USED       CARD     OTHERS BUSY                             TEMP   "
                " POWER\n"
                "0     Tesla T4                 "
                "[████████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒······························]   7.50 GiB     16 GiB "
                "     4 GiB  37%                           ▄  45C   12/70W\n"
                "1     Tesla T4                 "
                "[██·······················································]    512 MiB     16 GiB "
                "       0 B    -                                -        -\n"
                "\n"
                "   SESSION              PROC      USEDv      LIMIT MEMORY              FULL       "
                "       SHARE    PROMISED TIME                             WAIT   DEBT GPU      "
                "STATE\n"
                ">+ serve                   1      2 GiB      2 GiB [████████████████]  100%       "
                "    █  29.9%         30% [█████▒··········]           ▄  64.0%   1.2s 0        "
                "degraded\n"
                " + train                   2      2 GiB      4 GiB [██████··········]   37%       "
                "    ▄  55.1%        60%+ [█████████▒······]           ▅  12.3%      - 0,1      "
                "queued\n"
                " + idle                    0        0 B          - [················]    0%       "
                "    ▁      -                                                          -\n"
                "\n"
                "\n"
                "? help  q quit  s sort (used)  v view  / filter  enter open  l c limit  t K "
                "end\n");
        scene_end(&scene);
}

static void every_size_is_drawn_within_its_grid(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        scene_press(&scene, 'a');
        scene_press(&scene, 'v');
        scene_draw_sizes(&scene, 30, 200);
        scene_end(&scene);
}

static const char *first_name(const struct scene *scene)
{
        return scene->node.session[scene->model.row[0].session].name;
}

static void sessions_are_in_the_order_of_what_they_had_or_waited_for(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        scene_press(&scene, 'b');
        assert_string_equal(first_name(&scene), "train");
        scene_press(&scene, 'w');
        assert_string_equal(first_name(&scene), "serve");
        scene_press(&scene, 'r'); /* of whom nothing is known is below all others */
        assert_string_equal(first_name(&scene), "idle");
        /* What is sorted by is seen. */
        assert_true(scene.model.shows_time);
        scene_end(&scene);
}

static void figures_are_of_a_whole_second(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        time_of(&scene, 1, 0)->ran.busy_ns += 50 * MS;
        pass(&scene, 100);
        assert_int_equal(model_had(&scene.model, 1), 299);
        time_of(&scene, 1, 0)->ran.busy_ns += 450 * MS;
        pass(&scene, 900);
        assert_int_equal(model_had(&scene.model, 1), 500);
        /* Work longer than a span is counted when it is over. */
        time_of(&scene, 1, 0)->ran.busy_ns += 9000 * MS;
        pass(&scene, 1000);
        assert_int_equal(model_had(&scene.model, 1), 1000);
        scene_end(&scene);
}

static void what_nobody_measures_is_not_known(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        time_of(&scene, 1, 0)->ran.busy_ns = 0; /* another page */
        pass(&scene, 1000);
        assert_int_equal(model_had(&scene.model, 1), PACE_UNKNOWN);
        pass(&scene, 1000);
        assert_int_equal(model_had(&scene.model, 1), 0);
        time_of(&scene, 1, 0)->ran.at_ns = 0; /* its cap is gone, and it is alone */
        pass(&scene, 1000);
        assert_int_equal(model_had(&scene.model, 1), PACE_UNKNOWN);
        assert_int_equal(model_had(&scene.model, 0), PACE_UNKNOWN);
        scene_end(&scene);
}

static bool is_degraded(struct scene *scene)
{
        snapshot_judge(&scene->node.snapshot);
        return time_of(scene, 1, 0)->is_degraded;
}

static void a_cap_beside_others_is_exact_only_where_somebody_leases_the_gpu(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        assert_true(is_degraded(&scene));
        time_of(&scene, 1, 0)->is_leased = true;
        assert_false(is_degraded(&scene));
        time_of(&scene, 1, 0)->is_leased = false;
        /* Alone there. */
        scene.node.session[2].share[0].used_bytes = 0;
        assert_false(is_degraded(&scene));
        scene.node.session[2].share[0].used_bytes = GIB;
        /* A daemon steps in as soon as two are at work; this one hands out no leases. */
        scene.node.session[1].has_daemon = true;
        assert_false(is_degraded(&scene));
        time_of(&scene, 1, 0)->is_at_work = time_of(&scene, 2, 0)->is_at_work = true;
        assert_true(is_degraded(&scene));
        /* Nothing was promised. */
        time_of(&scene, 1, 0)->cap_ppm = PAGE_WHOLE_PPM;
        assert_false(is_degraded(&scene));
        scene_end(&scene);
}

static void why_it_waits_is_told(void **state)
{
        struct snapshot_time time = { .cap_ppm = 30 * PERCENT };
        struct pace pace = { .figures = { 300, 5, PACE_UNKNOWN, PACE_UNKNOWN } };

        assert_string_equal(pace_reason(&pace, &time), "");
        pace.figures.waited = 700;
        assert_string_equal(pace_reason(&pace, &time), "throttled");
        pace.figures.queued = 500;
        pace.figures.throttled = 200;
        assert_string_equal(pace_reason(&pace, &time), "queued");
        time.debt_ns = 1; /* it stands still although no wait of its is over yet */
        assert_string_equal(pace_reason(&pace, &time), "throttled");
        time = (struct snapshot_time){ 0 };
        pace.figures = (struct pace_figures){ 300, 700, 0, 0 };
        assert_string_equal(pace_reason(&pace, &time), ""); /* for what it has in flight itself */
}

static void each_term_has_its_key_and_its_flag(void **state)
{
        struct scene scene;

        begin_at_work(&scene);
        for (unsigned i = 0; i < KEYS_TERMS; i++) {
                scene_press(&scene, keys_terms[i].key);
                scene_press(&scene, '7');
                assert_int_equal(keys_press(&scene.keys, &scene.model, KEY_OF_ENTER), ORDER_SET);
                assert_ptr_equal(scene.keys.term, &keys_terms[i]);
                assert_string_equal(scene.keys.session, "serve");
                assert_string_equal(scene.keys.line, "7");
        }
        scene_end(&scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(on_a_usual_terminal_what_was_had_is_beside_memory),
                cmocka_unit_test(the_other_view_tells_more_of_time),
                cmocka_unit_test(what_all_had_is_no_more_than_there_was),
                cmocka_unit_test(with_whom_it_has_its_turns_is_told_last),
                cmocka_unit_test(a_long_debt_is_told_in_whole_seconds),
                cmocka_unit_test(a_wide_terminal_has_room_for_both),
                cmocka_unit_test(every_size_is_drawn_within_its_grid),
                cmocka_unit_test(sessions_are_in_the_order_of_what_they_had_or_waited_for),
                cmocka_unit_test(figures_are_of_a_whole_second),
                cmocka_unit_test(what_nobody_measures_is_not_known),
                cmocka_unit_test(a_cap_beside_others_is_exact_only_where_somebody_leases_the_gpu),
                cmocka_unit_test(why_it_waits_is_told),
                cmocka_unit_test(each_term_has_its_key_and_its_flag),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
