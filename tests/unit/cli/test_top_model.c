/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `aliquot top` shows and what its keys do, without a screen: order, filter, selection, the
 * histories, and the orders that leave it.
 */
#include "cli/top/model.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/top/columns.h"
#include "cli/top/keys.h"
#include "test_top.h"

struct scene {
        struct test_node node;
        struct model model;
        struct keys keys;
};

static void begin(struct scene *scene)
{
        *scene = (struct scene){ .model.sort = SORT_NAME, .keys.page_rows = 10 };
        test_node_init(&scene->node);
        assert_int_equal(model_take(&scene->model, &scene->node.snapshot), 0);
}

static void end(struct scene *scene)
{
        model_finish(&scene->model);
        keys_finish(&scene->keys);
}

/* Rows as words: a session by its name, a GPU by ".0", a process by its pid. */
static void expect_rows(const struct model *model, const char *expected)
{
        char words[512] = "";

        for (size_t i = 0; i < model->count; i++) {
                const struct model_row *row = &model->row[i];
                const struct snapshot_session *session = &model->now->session[row->session];
                size_t used = strlen(words);

                if (row->kind == MODEL_SESSION)
                        snprintf(words + used, sizeof(words) - used, " %s", session->name);
                else if (row->kind == MODEL_SHARE)
                        snprintf(words + used, sizeof(words) - used, " .%u", row->at);
                else
                        snprintf(words + used, sizeof(words) - used, " %u",
                                 session->process[row->at].pid);
        }
        assert_string_equal(words, expected);
}

static const char *selected_name(const struct model *model)
{
        return model->now->session[model_selected(model)->session].name;
}

/* The answer to the last of the keys. */
static int press(struct scene *scene, const char *keys)
{
        int order = ORDER_NONE;

        for (; *keys; keys++)
                order = keys_press(&scene->keys, &scene->model, *keys);
        return order;
}

static int press_key(struct scene *scene, int key)
{
        return keys_press(&scene->keys, &scene->model, key);
}

static void every_sort_has_its_order_and_its_reverse(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, "n");
        expect_rows(&scene.model, " idle serve train");
        press(&scene, "p");
        expect_rows(&scene.model, " train serve idle");
        press(&scene, "u"); /* equal: by name */
        expect_rows(&scene.model, " serve train idle");
        press(&scene, "m"); /* no limit is more than any */
        expect_rows(&scene.model, " idle train serve");
        press(&scene, "f");
        expect_rows(&scene.model, " serve train idle");
        press(&scene, "r");
        expect_rows(&scene.model, " idle train serve");
        press(&scene, "sss"); /* past share and waiting round to the first, forwards */
        assert_int_equal(scene.model.sort, SORT_NAME);
        expect_rows(&scene.model, " idle serve train");
        end(&scene);
}

static void an_opened_session_shows_its_gpus_and_processes(void **state)
{
        struct scene scene;

        begin(&scene);
        press_key(&scene, KEY_OF_END);
        press_key(&scene, KEY_OF_ENTER);
        expect_rows(&scene.model, " idle serve train .0 .1 100 101");
        /* From one of its rows it is closed, and selected itself. */
        press(&scene, "jjj");
        press_key(&scene, KEY_OF_ENTER);
        expect_rows(&scene.model, " idle serve train");
        assert_string_equal(selected_name(&scene.model), "train");
        /* One GPU needs no row of its own. */
        press(&scene, "a");
        expect_rows(&scene.model, " idle serve 200 train .0 .1 100 101");
        press(&scene, "a");
        expect_rows(&scene.model, " idle serve train");
        end(&scene);
}

static void the_filter_finds_sessions_commands_users_and_pids(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, "a/TR");
        expect_rows(&scene.model, " train .0 .1 100 101");
        press_key(&scene, KEY_OF_ERASE_LINE);
        press(&scene, "alice"); /* of the processes, only those that match */
        expect_rows(&scene.model, " train .0 .1 100");
        press_key(&scene, KEY_OF_ERASE_LINE);
        press(&scene, "200");
        expect_rows(&scene.model, " serve 200");
        press_key(&scene, KEY_OF_ERASE);
        press_key(&scene, KEY_OF_ERASE);
        expect_rows(&scene.model, ""); /* a pid is whole or not at all */
        press_key(&scene, KEY_OF_ERASE);
        press(&scene, "load");
        press_key(&scene, KEY_OF_ENTER);
        press(&scene, "n"); /* a key again, the filter stays */
        expect_rows(&scene.model, " train .0 .1 101");
        press_key(&scene, KEY_OF_ESCAPE);
        expect_rows(&scene.model, " idle serve 200 train .0 .1 100 101");
        end(&scene);
}

static void the_selection_stays_with_its_process(void **state)
{
        struct scene scene;
        struct snapshot_process gone;

        begin(&scene);
        press(&scene, "ajjjjjj"); /* 100 */
        assert_int_equal(model_selected(&scene.model)->kind, MODEL_PROCESS);
        press(&scene, "u");
        assert_int_equal(model_selected(&scene.model)->kind, MODEL_PROCESS);
        assert_string_equal(selected_name(&scene.model), "train");
        /* A new process with the same slot is another one. */
        gone = scene.node.process[1];
        scene.node.process[1].said.start_ticks++;
        assert_int_equal(model_take(&scene.model, &scene.node.snapshot), 0);
        scene.node.process[1] = gone;
        /* Everything gone: nothing selected, and nothing to do. */
        scene.node.snapshot.session_count = 0;
        assert_int_equal(model_take(&scene.model, &scene.node.snapshot), 0);
        assert_null(model_selected(&scene.model));
        assert_int_equal(press(&scene, "jkaltK"), ORDER_NONE);
        assert_int_equal(press_key(&scene, KEY_OF_ENTER), ORDER_NONE);
        end(&scene);
}

static void untouched_the_first_row_is_selected_whichever_it_is(void **state)
{
        struct scene scene;

        begin(&scene);
        press(&scene, "f");
        assert_string_equal(selected_name(&scene.model), "serve");
        press_key(&scene, KEY_OF_DOWN);
        assert_string_equal(selected_name(&scene.model), "train");
        press(&scene, "n");
        assert_string_equal(selected_name(&scene.model), "train");
        end(&scene);
}

static void a_session_keeps_what_is_remembered_of_it(void **state)
{
        struct scene scene;

        begin(&scene);
        press_key(&scene, KEY_OF_END);
        press_key(&scene, KEY_OF_ENTER);
        /* The first one goes: places shift, names do not. */
        scene.node.snapshot.session = &scene.node.session[1];
        scene.node.snapshot.session_count = 2;
        assert_int_equal(model_take(&scene.model, &scene.node.snapshot), 0);
        expect_rows(&scene.model, " serve train .0 .1 100 101");
        assert_int_equal(scene.model.memory[1].used.count, 2);
        /* Back again, it begins anew. */
        scene.node.snapshot.session = scene.node.session;
        scene.node.snapshot.session_count = 3;
        assert_int_equal(model_take(&scene.model, &scene.node.snapshot), 0);
        assert_int_equal(scene.model.memory[0].used.count, 1);
        assert_int_equal(scene.model.device[0].busy.count, 3);
        assert_int_equal(scene.model.device[1].busy.count, 0); /* it does not tell */
        end(&scene);
}

static void a_limit_is_an_order_with_the_session_of_the_question(void **state)
{
        struct scene scene;

        begin(&scene);
        press_key(&scene, KEY_OF_END);
        assert_int_equal(press(&scene, "l6GiBx"), ORDER_NONE);
        press_key(&scene, KEY_OF_ERASE);
        /* The order of rows changes meanwhile. */
        scene.model.sort = SORT_LIMIT;
        model_arrange(&scene.model);
        assert_int_equal(press_key(&scene, KEY_OF_ENTER), ORDER_SET);
        assert_string_equal(scene.keys.session, "train");
        assert_string_equal(scene.keys.line, "6GiB");
        /* Given up, or nothing said. */
        press(&scene, "l6GiB");
        assert_int_equal(press_key(&scene, KEY_OF_ESCAPE), ORDER_NONE);
        press(&scene, "l");
        assert_int_equal(press_key(&scene, KEY_OF_ENTER), ORDER_NONE);
        assert_true(scene.keys.is_bad);
        end(&scene);
}

static void a_signal_needs_a_yes_and_goes_to_those_of_the_question(void **state)
{
        struct scene scene;

        begin(&scene);
        press_key(&scene, KEY_OF_END);
        assert_int_equal(press(&scene, "t"), ORDER_NONE);
        /* A third process comes while the question is open. */
        scene.node.session[2].process_count = 1;
        model_take(&scene.model, &scene.node.snapshot);
        assert_int_equal(press(&scene, "y"), ORDER_SIGNAL);
        assert_int_equal(scene.keys.signal, SIGTERM);
        assert_int_equal(scene.keys.target_count, 2);
        assert_int_equal(scene.keys.target[1].pid, 101);
        press(&scene, "Kn");
        assert_int_equal(press(&scene, "y"), ORDER_NONE);
        /* In the row of one process it is that one. */
        press_key(&scene, KEY_OF_ENTER);
        press_key(&scene, KEY_OF_END);
        assert_int_equal(press(&scene, "Ky"), ORDER_SIGNAL);
        assert_int_equal(scene.keys.signal, SIGKILL);
        assert_int_equal(scene.keys.target_count, 1);
        assert_int_equal(scene.keys.target[0].pid, 100);
        /* Nobody there. */
        press_key(&scene, KEY_OF_HOME);
        press(&scene, "t");
        assert_int_equal(scene.keys.question, ASKS_NOTHING);
        end(&scene);
}

static void a_line_of_history_is_cut_into_spans_of_their_peaks(void **state)
{
        struct history history = { 0 };

        assert_int_equal(history_cell(&history, 4, 3), -1);
        /* Spans of 60: the peak of the first stays where it is until its span moves on. */
        for (unsigned i = 0; i < 60; i++)
                history_add(&history, i == 7 ? 900 : 100);
        assert_int_equal(history_cell(&history, 4, 3), 900);
        assert_int_equal(history_cell(&history, 4, 2), -1);
        history_add(&history, 200);
        assert_int_equal(history_cell(&history, 4, 3), 200);
        assert_int_equal(history_cell(&history, 4, 2), 900);
        for (unsigned i = 0; i < 240; i++)
                history_add(&history, 300);
        for (unsigned i = 0; i < 4; i++)
                assert_int_equal(history_cell(&history, 4, i), 300);
}

static void columns_that_do_not_fit_go_by_their_rank(void **state)
{
        static const struct column column[] = {
                { "a", .least = 4 },
                { "b", .least = 4, .most = 8, .weight = 1, .rank = 2 },
                { "c", .least = 4, .rank = 1 },
        };
        struct columns columns;

        columns_fit(&columns, column, 3, 30);
        assert_int_equal(columns.width[1], 8);
        assert_int_equal(columns.begin[2], 14);
        columns_fit(&columns, column, 3, 13);
        assert_int_equal(columns.width[1], 0);
        assert_int_equal(columns.begin[2], 5);
        columns_fit(&columns, column, 3, 2);
        assert_int_equal(columns.width[0], 4);
        assert_int_equal(columns.width[2], 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_sort_has_its_order_and_its_reverse),
                cmocka_unit_test(an_opened_session_shows_its_gpus_and_processes),
                cmocka_unit_test(the_filter_finds_sessions_commands_users_and_pids),
                cmocka_unit_test(the_selection_stays_with_its_process),
                cmocka_unit_test(untouched_the_first_row_is_selected_whichever_it_is),
                cmocka_unit_test(a_session_keeps_what_is_remembered_of_it),
                cmocka_unit_test(a_limit_is_an_order_with_the_session_of_the_question),
                cmocka_unit_test(a_signal_needs_a_yes_and_goes_to_those_of_the_question),
                cmocka_unit_test(a_line_of_history_is_cut_into_spans_of_their_peaks),
                cmocka_unit_test(columns_that_do_not_fit_go_by_their_rank),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
