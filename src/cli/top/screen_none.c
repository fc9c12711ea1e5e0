/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal in a build without ncurses (screen.h): screen_open() fails with the reason, and the
 * other functions do nothing.
 */
#include "cli/top/screen.h"

#include <errno.h>

int screen_open(struct error *err)
{
        return fail(err, -ENOSYS,
                    "the screen was not built in (ncursesw was missing, or not wanted); --once "
                    "prints one frame as text");
}

void screen_close(void)
{
}

int screen_signal(void)
{
        return 0;
}

void screen_size(int *ret_rows, int *ret_columns)
{
        *ret_rows = *ret_columns = 0;
}

void screen_show(const struct grid *grid)
{
}

int screen_wait(int milliseconds)
{
        return SCREEN_GONE;
}
