/* SPDX-License-Identifier: Apache-2.0 */
#include "test_top_scene.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

void scene_begin(struct scene *scene)
{
        *scene = (struct scene){ .model.sort = SORT_USED };
        scene->frame = (struct view_frame){ .model = &scene->model,
                                            .clock = "12:34:56",
                                            .where = "/run/a" };
        test_node_init(&scene->node);
        assert_int_equal(model_take(&scene->model, &scene->node.snapshot), 0);
}

void scene_end(struct scene *scene)
{
        model_finish(&scene->model);
        keys_finish(&scene->keys);
        grid_finish(&scene->grid);
}

void scene_draw(struct scene *scene, int rows, int columns)
{
        assert_int_equal(grid_begin(&scene->grid, rows, columns), 0);
        view_draw(&scene->grid, &scene->frame, &scene->keys, &scene->first);
}

void scene_draw_sizes(struct scene *scene, int rows, int columns)
{
        for (int i = 1; i <= rows; i++) {
                for (int j = 1; j <= columns; j++)
                        scene_draw(scene, i, j);
        }
}

void scene_press(struct scene *scene, int key)
{
        assert_int_equal(keys_press(&scene->keys, &scene->model, key), ORDER_NONE);
}

void scene_expect(const struct scene *scene, const char *expected)
{
        char *text = NULL;
        size_t bytes = 0;
        FILE *stream = open_memstream(&text, &bytes);

        grid_print(&scene->grid, stream);
        fclose(stream);
        assert_string_equal(text, expected);
        free(text);
}
