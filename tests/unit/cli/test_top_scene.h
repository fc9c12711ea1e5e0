/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `aliquot top` over the small node of test_top.h, without a terminal.
 */
#ifndef ALIQUOT_TESTS_UNIT_CLI_TEST_TOP_SCENE_H
#define ALIQUOT_TESTS_UNIT_CLI_TEST_TOP_SCENE_H

#include "cli/top/view.h"
#include "test_top.h"

struct scene {
        struct test_node node;
        struct model model;
        struct keys keys;
        struct grid grid;
        struct view_frame frame;
        size_t first;
};

void scene_begin(struct scene *scene);
void scene_end(struct scene *scene);
void scene_draw(struct scene *scene, int rows, int columns);
void scene_press(struct scene *scene, int key);

/* The screen as text; lines that are empty at its end do not count. */
void scene_expect(const struct scene *scene, const char *expected);

#endif
