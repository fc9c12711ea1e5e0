/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: shows grids, and returns the keys that are pressed. There is one implementation
 * with ncurses, and one for a build without ncurses, in which screen_open() fails and gives the
 * reason.
 */
#ifndef ALIQUOT_CLI_TOP_SCREEN_H
#define ALIQUOT_CLI_TOP_SCREEN_H

#include "cli/top/grid.h"
#include "common/error.h"

/* What screen_wait() returns instead of a key. */
enum screen_event {
        SCREEN_NOTHING = 0,
        SCREEN_RESIZED = -1, /* or the program continues after it was stopped */
        SCREEN_GONE = -2,
        SCREEN_ENDED = -3, /* a signal that ends programs has arrived */
};

/* Takes over the terminal until screen_close(). Meanwhile SIGINT, SIGQUIT, SIGTERM and SIGHUP are
 * reported by screen_wait(), and SIGTSTP stops the program and returns the terminal to the shell
 * until it continues. NO_COLOR is respected. */
int screen_open(struct error *err);
void screen_close(void);

/* Returns the signal of SCREEN_ENDED; 0: none. */
int screen_signal(void);

void screen_size(int *ret_rows, int *ret_columns);

/* Shows a grid. Only what differs from the last grid is sent to the terminal. */
void screen_show(const struct grid *grid);

/* Waits for a key, for `milliseconds` at most. Returns a character, an enum key or a
 * screen_event. */
int screen_wait(int milliseconds);

#endif
