/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: shows grids, and says which key was pressed. One file with ncurses, one for a build
 * without it, in which screen_open() fails with the reason.
 */
#ifndef ALIQUOT_CLI_TOP_SCREEN_H
#define ALIQUOT_CLI_TOP_SCREEN_H

#include "cli/top/grid.h"
#include "common/error.h"

/* What screen_wait() returns instead of a key. */
enum screen_event {
        SCREEN_NOTHING = 0,
        SCREEN_RESIZED = -1, /* or another program had the terminal */
        SCREEN_GONE = -2,
        SCREEN_ENDED = -3, /* by a signal that is to end us */
};

/* Takes the terminal. Until screen_close() gives it back SIGINT, SIGQUIT, SIGTERM and SIGHUP are
 * kept for screen_wait(), and SIGTSTP gives it to others for as long as we are stopped. NO_COLOR is
 * heeded. */
int screen_open(struct error *err);
void screen_close(void);

/* The signal behind SCREEN_ENDED; 0: none. */
int screen_signal(void);

void screen_size(int *ret_rows, int *ret_columns);

/* Only what has changed since the last grid goes to the terminal. */
void screen_show(const struct grid *grid);

/* Waits for `milliseconds` at most. Returns a key as in enum key, or a screen_event. */
int screen_wait(int milliseconds);

#endif
