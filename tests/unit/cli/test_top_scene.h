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
/* In all sizes from 1x1 to that. */
void scene_draw_sizes(struct scene *scene, int rows, int columns);
void scene_press(struct scene *scene, int key);

/* What stands above the sessions on most screens, in so many columns; and the keys below. */
#define SCENE_GPUS_80                                                                        \
        "GPU   NAME      MEMORY                 USED       CARD BUSY        TEMP    POWER\n" \
        "0     Tesla T4  [###====.......]   7.50 GiB     16 GiB  37%      -  45C   12/70W\n" \
        "1     Tesla T4  [#.............]    512 MiB     16 GiB    -           -        -\n" \
        "\n"
#define SCENE_HEAD_80                                                              \
        "aliquot top  3 sessions, 3 processes  /run/a                            " \
        "12:34:56\n" SCENE_GPUS_80
#define SCENE_HEAD_60                                                    \
        "aliquot top  3 sessions, 3 processes  /run/a        12:34:56\n" \
        "GPU   NAME      MEMORY                  USED       CARD BUSY\n" \
        "0     Tesla T4  [###====........]   7.50 GiB     16 GiB  37%\n" \
        "1     Tesla T4  [#..............]    512 MiB     16 GiB    -\n" \
        "\n"
#define SCENE_KEYS \
        "? help  q quit  s sort (used)  v view  / filter  enter open  l c limit  t K end\n"

/* The screen as text; lines that are empty at its end do not count. */
void scene_expect(const struct scene *scene, const char *expected);

#endif
